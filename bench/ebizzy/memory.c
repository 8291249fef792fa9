// SPDX-License-Identifier: GPL-2.0-only
#include "ebizzy.h"
#include "pv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void *take_memory(const struct settings *s, size_t size)
{
	void *memory;

	if (s->always_mmap) {
		memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			      0);
		if (memory == MAP_FAILED)
			memory = NULL;
	} else {
		memory = malloc(size);
	}
	if (!memory)
		pv_die(PV_EXIT_FAILED,
		       "cannot allocate %zu bytes: %s; try a smaller -n (%u), -s (%u) or -t (%u)",
		       size, strerror(errno), s->chunks, s->chunk_size, s->threads);
	return memory;
}

void give_memory(const struct settings *s, void *memory, size_t size)
{
	if (s->always_mmap)
		munmap(memory, size);
	else
		free(memory);
}

/* Whole pages within the chunk, as it may share its first and last with others. */
static void protect(const struct settings *s, void *chunk, int prot)
{
	uintptr_t mask = s->page_size - 1;
	uintptr_t from = ((uintptr_t)chunk + mask) & ~mask;
	uintptr_t to = ((uintptr_t)chunk + s->chunk_size) & ~mask;

	if (from >= to)
		return;
	if (mprotect((char *)chunk + (from - (uintptr_t)chunk), to - from, prot))
		pv_die(PV_EXIT_FAILED, "-p: cannot change the permissions of a chunk: %s",
		       strerror(errno));
}

static bool is_protected(const struct settings *s, unsigned int i)
{
	return s->permissions && i % 2 == 0;
}

/* Every record holds its own index, so that each key can be looked up. */
static void write_records(const struct settings *s, record_t *chunk)
{
	size_t count = s->chunk_size / sizeof(record_t);

	for (size_t i = 0; i < count; i++)
		chunk[i] = i;
	memset(chunk + count, 0, s->chunk_size % sizeof(record_t));
}

void make_chunks(const struct settings *s, struct chunks *chunks)
{
	void **hole = NULL;

	chunks->count = s->chunks;
	chunks->chunk = take_memory(s, s->chunks * sizeof(*chunks->chunk));
	if (s->holes)
		hole = take_memory(s, s->chunks * sizeof(*hole));
	for (unsigned int i = 0; i < s->chunks; i++) {
		chunks->chunk[i] = take_memory(s, s->chunk_size);
		if (hole)
			hole[i] = take_memory(s, s->page_size);
	}
	for (unsigned int i = 0; hole && i < s->chunks; i++)
		give_memory(s, hole[i], s->page_size);
	if (hole)
		give_memory(s, hole, s->chunks * sizeof(*hole));
	if (s->verbose)
		fputs("Allocated memory\n", s->chat);

	for (unsigned int i = 0; i < s->chunks; i++) {
		write_records(s, chunks->chunk[i]);
		if (is_protected(s, i))
			protect(s, chunks->chunk[i], PROT_READ);
	}
	if (s->verbose)
		fputs("Wrote memory\n", s->chat);
}

void drop_chunks(const struct settings *s, struct chunks *chunks)
{
	for (unsigned int i = 0; i < chunks->count; i++) {
		if (is_protected(s, i))
			protect(s, chunks->chunk[i], PROT_READ | PROT_WRITE);
		give_memory(s, chunks->chunk[i], s->chunk_size);
	}
	give_memory(s, chunks->chunk, chunks->count * sizeof(*chunks->chunk));
}
