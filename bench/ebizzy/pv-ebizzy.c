// SPDX-License-Identifier: GPL-2.0-only
#include "ebizzy.h"
#include "pv.h"
#include "sample.h"

#include <gnu/libc-version.h>
#include <inttypes.h>
#include <stdlib.h>

const char *pv_progname = "pv-ebizzy";

static void print_text(const struct result *r)
{
	printf("%" PRIu64 " records/s\n", (uint64_t)((double)r->records / r->real_s));
	printf("real %5.2f s\n", r->real_s);
	printf("user %5.2f s\n", r->user_s);
	printf("sys  %5.2f s\n", r->sys_s);
	pv_stdout_flush();
}

static const char *allocator(const struct settings *s)
{
	if (s->always_mmap)
		return "mmap";
	return s->never_mmap ? "malloc, never mmap" : "malloc";
}

static void print_json(const struct settings *s, const struct result *r)
{
	const char *copy = s->touch_only ? "touch" : s->own_copy ? "loop" : "memcpy";
	json_t *details;

	details = json_pack(
		"{s:I, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:s, s:s, s:s, s:b, s:b, s:b, s:s}",
		"records", (json_int_t)r->records, "real_s", r->real_s, "user_s", r->user_s,
		"sys_s", r->sys_s, "threads", (json_int_t)s->threads, "chunks",
		(json_int_t)s->chunks, "chunk_size", (json_int_t)s->chunk_size, "seconds",
		(json_int_t)s->seconds, "allocator", allocator(s), "copy", copy, "search",
		s->linear ? "linear" : "binary", "random_size", (int)s->random_size, "permissions",
		(int)s->permissions, "holes", (int)s->holes, "glibc", gnu_get_libc_version());
	pv_sample_print(&(struct pv_sample){
		.workload = "ebizzy",
		.implementation = "pv-tlb-flush",
		.metric = "throughput",
		.unit = "records/s",
		.better = "higher",
		.value = (double)r->records / r->real_s,
		.params = s->params,
		.bystanders = "none",
		.flushes = -1,
		.remote_vcpus = -1,
		.details = details,
	});
}

int main(int argc, char *argv[])
{
	struct settings settings;
	struct chunks chunks;
	struct result result;

	read_options(argc, argv, &settings);
	make_chunks(&settings, &chunks);
	result = search(&settings, &chunks);
	if (settings.json)
		print_json(&settings, &result);
	else
		print_text(&result);
	drop_chunks(&settings, &chunks);
	free(settings.params);
	return 0;
}
