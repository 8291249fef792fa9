// SPDX-License-Identifier: GPL-2.0-only
/*
 * pv-stale: finds stale translations, that is accesses through a mapping that a finished system
 * call has removed.
 *
 * Slots of one or more pages lie at fixed addresses. A slot's content is a generation: each cache
 * line holds the generation and the slot (tag), the line's own address (owner) and a sum over both.
 * Flushers change slots, each its own ones; every thread on every CPU reads and writes all of them.
 *
 *   munmap, mmap       the slot goes, and comes back with another page of the file
 *   swap               another page is mapped over it in one call, shared or private
 *   mprotect-ro, -none, -rw
 *   dontneed           drops private copies; the page of the file that appears was written before
 *   cow                a store of the flusher replaces the file's page by a private copy
 *   mremap             the slot moves to its other address
 *   fork               the child keeps its pages, the flusher's stores make copies for the parent
 *
 * What went stays readable somewhere: the pages of a file (memfd) have second mappings that never
 * change, and are filled anew only after two more generations. Who has a stale translation
 * therefore reads an older generation, well-formed, and does not depend on what a freed page
 * happens to contain.
 *
 * The state of a slot is one word. A flusher sets CHANGING in it before the system call, and the
 * new state only after the call has returned. An access that finds the same word before and after
 * itself, without CHANGING, happened in that state: it has to see exactly this generation, and to
 * get SIGSEGV exactly where this state does not allow it. Other accesses must at least not see
 * anything older than what was published before they began. Stores through stale translations leave
 * traces as well: pages that nobody may write to have sums that must not change, child processes'
 * pages too.
 *
 * One file without dependencies: it is also a selftest of kernels.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { EXIT_CLEAN, EXIT_STALE, EXIT_USAGE, EXIT_REFUSED, EXIT_NOTHING, EXIT_STUCK };

#define MIN_THREADS 2
#define MAX_THREADS 1024
#define MAX_PAGES 1024
#define MAX_SECONDS 604800
#define MAX_CPUS 1024
#define FRAMES 3
#define LINE 64
#define SCRATCH 5
#define STACK_SIZE 262144
#define NAP_NS 1000000
#define HEARTBEAT_NS 10000000
#define SECOND UINT64_C(1000000000)
/* Far below where the kernel puts what has no address: nothing else comes into the slots' gaps. */
#define ARENA ((char *)UINT64_C(0x200000000000))

enum op { MUNMAP, MMAP, SWAP, RO, NONE, RW, DONTNEED, COW, MREMAP, FORK, OPS };
static const char *const op_names[OPS] = {"munmap",	   "mmap",	  "swap",     "mprotect-ro",
					  "mprotect-none", "mprotect-rw", "dontneed", "cow",
					  "mremap",	   "fork"};

enum role { FLUSHER, BUSY, IDLE, HEARTBEAT };
static const char *const role_names[] = {"flusher", "busy", "idle", "heartbeat"};

enum perm { P_NONE, P_RO, P_RW };
static const char *const perm_names[] = {"not mapped or PROT_NONE", "read-only", "read-write"};

/* A slot's state: CHANGING, what is allowed, at which of the two addresses; above that, a number
 * that never repeats. */
#define CHANGING UINT64_C(1)
#define STATE_PERM(s) ((enum perm)((s) >> 1 & 3))
#define STATE_WHERE(s) ((unsigned int)((s) >> 3 & 1))
#define STATE(seq, where, perm)                                                                    \
	((uint64_t)(seq) << 4 | (uint64_t)(where) << 3 | (uint64_t)(perm) << 1)

struct line {
	_Atomic uint64_t tag, owner, sum, scratch[SCRATCH];
};

struct slot {
	_Atomic uint64_t state;
	_Atomic uint64_t gen;  /* published */
	_Atomic uint64_t next; /* nothing newer was ever written */
	_Atomic int op;	       /* the last one that began */
	unsigned int index;
	size_t bytes;
	size_t lines;
	char *home[2];
	char *alias; /* all its frames, always mapped */
	off_t offset;
	/* the flusher's */
	uint64_t seq;
	unsigned int frame;
	bool mapped, private, cowed, frozen;
	bool hashed[FRAMES];
	uint64_t hash[FRAMES]; /* of frames that must not change */
	uint64_t frozen_hash;
};

/* What a child process tells its parent; shared memory. */
struct family {
	_Atomic int go;
	_Atomic int wrong;
	const char *what;
	const void *address;
	uint64_t expected, found;
};

struct thread {
	pthread_t handle;
	enum role role;
	unsigned int index;
	int cpu;
	uint64_t random;
	struct family *family;
	/* the access that may fault */
	jmp_buf jump;
	volatile uintptr_t target;
	volatile size_t length;
	uint64_t tag, owner, sum;
	bool child;
	/* the main thread's */
	uint64_t seen, seen_at;
	/* counters; only the thread itself adds */
	_Atomic uint64_t rounds, reads, writes, faults, checks, naps, late_ns, ops[OPS];
};

struct finding {
	int status;
	const char *what;
	const char *op;
	uint64_t address, expected, found;
	enum perm perm;
	int cpu;
	const struct thread *thread;
	double time;
	char text[160];
};

static struct {
	long threads, pages, stall;
	double seconds, progress, oversleep;
	uint64_t seed;
	bool json;
} opts = {.threads = -1, .pages = 16, .stall = 30, .seconds = 10, .progress = 5, .oversleep = 5};

static struct {
	size_t page;
	int fd;
	uint64_t start;
	struct slot *slots;
	struct thread *threads;
	unsigned int count, flushers, cpus;
	int cpu[MAX_CPUS];
	pthread_barrier_t ready;
	atomic_bool stop;
	_Atomic unsigned int running;
	atomic_int claimed; /* by the thread that reports */
	atomic_bool complete;
	struct finding finding;
} run;

static _Thread_local struct thread *self;

#ifdef PV_STALE_EARLY
/*
 * For the tests: --early OP tells the others of a change before it is made, --skip OP does not make
 * it at all, and --blind judges no access, so that only the traces of stores are left.
 */
static int early = -1, skip = -1;
static bool blind;
#else
static const int early = -1, skip = -1;
static const bool blind = false;
#endif

static void __attribute__((format(printf, 2, 3), noreturn)) end(int status, const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("pv-stale: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	_exit(status);
}

static void __attribute__((noreturn)) refused(const char *what)
{
	end(EXIT_REFUSED, "%s: %s", what, strerror(errno));
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SECOND + (uint64_t)ts.tv_nsec;
}

static void nap(long ns)
{
	struct timespec span = {.tv_sec = ns / (long)SECOND, .tv_nsec = ns % (long)SECOND};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &span, NULL);
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static uint64_t draw(struct thread *t, uint64_t below)
{
	t->random += UINT64_C(0x9e3779b97f4a7c15);
	return (uint64_t)(((unsigned __int128)mix(t->random) * below) >> 64);
}

#define get(p) atomic_load_explicit(p, memory_order_acquire)
#define put(p, v) atomic_store_explicit(p, v, memory_order_release)

/* Only its thread adds to a counter. */
static void add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

static bool stopping(void)
{
	return atomic_load_explicit(&run.stop, memory_order_relaxed);
}

/* The first finding is the one that is reported. */
static struct finding *claim(int status, const char *what)
{
	struct finding *f = &run.finding;

	if (atomic_exchange(&run.claimed, 1))
		return NULL;
	f->status = status;
	f->what = what;
	f->cpu = sched_getcpu();
	f->thread = self;
	f->time = (double)(now() - run.start) / 1e9;
	return f;
}

static void publish_finding(void)
{
	put(&run.complete, true);
	put(&run.stop, true);
}

static void stale(const struct slot *slot, const char *what, const void *address, uint64_t expected,
		  uint64_t found)
{
	struct finding *f = claim(EXIT_STALE, what);

	if (!f)
		return;
	f->op = op_names[get(&slot->op)];
	f->address = (uintptr_t)address;
	f->expected = expected;
	f->found = found;
	f->perm = STATE_PERM(get(&slot->state));
	publish_finding();
}

/* ---- Accesses that may fault ---- */

static void on_fault(int signal, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr;
	struct thread *t = self;

	(void)context;
	/* Some kernels report only the page. */
	if (signal == SIGSEGV && t && t->target && at / run.page >= t->target / run.page &&
	    at / run.page <= (t->target + t->length - 1) / run.page) {
		t->target = 0;
		_longjmp(t->jump, 1);
	}
	if (t && t->child)
		_exit(EXIT_REFUSED);
	end(EXIT_STALE,
	    "stale: %s at 0x%" PRIxPTR " during an access to 0x%" PRIxPTR ", CPU %d, seed %" PRIu64,
	    signal == SIGSEGV ? "SIGSEGV" : "SIGBUS", at, t ? t->target : 0, sched_getcpu(),
	    opts.seed);
}

/* Between these two an access may fault; the function that accesses has to call _setjmp() itself.
 */
static void may_fault(struct thread *t, const void *at, size_t length)
{
	t->length = length;
	t->target = (uintptr_t)at;
	atomic_signal_fence(memory_order_seq_cst);
}

static bool did_not_fault(struct thread *t)
{
	atomic_signal_fence(memory_order_seq_cst);
	t->target = 0;
	return true;
}

static bool read_line(struct thread *t, struct line *line)
{
	if (_setjmp(t->jump))
		return false;
	may_fault(t, line, sizeof(*line));
	t->tag = get(&line->tag);
	t->owner = get(&line->owner);
	t->sum = get(&line->sum);
	return did_not_fault(t);
}

static bool write_line(struct thread *t, struct line *line, uint64_t value)
{
	if (_setjmp(t->jump))
		return false;
	may_fault(t, line, sizeof(*line));
	atomic_store_explicit(&line->scratch[t->index % SCRATCH], value, memory_order_relaxed);
	/* The state is read again only after the store. */
	atomic_thread_fence(memory_order_seq_cst);
	return did_not_fault(t);
}

/* ---- What a line holds ---- */

static uint64_t tag_of(const struct slot *slot, uint64_t gen)
{
	return gen << 16 | slot->index;
}

static uint64_t owner_of(const struct slot *slot, size_t i)
{
	return (uintptr_t)slot->home[0] + i * LINE;
}

static uint64_t sum_of(uint64_t tag, uint64_t owner)
{
	return mix(tag ^ mix(owner ^ opts.seed));
}

static void write_lines(const struct slot *slot, char *at, uint64_t gen, bool whole)
{
	struct line *lines = (struct line *)at;
	uint64_t tag = tag_of(slot, gen);

	for (size_t i = 0; i < slot->lines; i++) {
		if (whole) {
			put(&lines[i].owner, owner_of(slot, i));
			for (unsigned int j = 0; j < SCRATCH; j++)
				put(&lines[i].scratch[j], 0);
		}
		put(&lines[i].tag, tag);
		put(&lines[i].sum, sum_of(tag, owner_of(slot, i)));
	}
}

static uint64_t hash_of(const struct slot *slot, const char *at)
{
	const _Atomic uint64_t *words = (const _Atomic uint64_t *)at;
	uint64_t hash = 0;

	for (size_t i = 0; i < slot->bytes / sizeof(*words); i++)
		hash = (hash << 5 | hash >> 59) * UINT64_C(0x9e3779b97f4a7c15) +
		       atomic_load_explicit(&words[i], memory_order_relaxed);
	return hash;
}

/* A flusher's own stores and loads where its slot is. */
static void rewrite(struct thread *t, const struct slot *slot, char *at, uint64_t gen)
{
	if (_setjmp(t->jump)) {
		stale(slot, "SIGSEGV from writing to what is writable", at, gen, 0);
		return;
	}
	may_fault(t, at, slot->bytes);
	write_lines(slot, at, gen, false);
	did_not_fault(t);
}

static uint64_t rehash(struct thread *t, const struct slot *slot, const char *at)
{
	if (_setjmp(t->jump)) {
		stale(slot, "SIGSEGV from reading what is mapped", at, 0, 0);
		return 0;
	}
	may_fault(t, at, slot->bytes);
	t->sum = hash_of(slot, at);
	did_not_fault(t);
	return t->sum;
}

/* ---- Readers and writers: every thread ---- */

static void check_read(struct thread *t, struct slot *slot)
{
	uint64_t before = get(&slot->state), floor = get(&slot->gen), after, next, gen;
	bool away = draw(t, 32) == 0; /* at the address where the slot is not */
	size_t i = draw(t, slot->lines);
	struct line *line = (struct line *)slot->home[STATE_WHERE(before) ^ away] + i;
	bool read = read_line(t, line);
	bool allowed = !away && STATE_PERM(before) != P_NONE;
	bool quiet;

	atomic_thread_fence(memory_order_seq_cst);
	after = get(&slot->state);
	next = get(&slot->next);
	quiet = before == after && !(before & CHANGING);
	add(&t->reads, 1);
	add(&t->checks, quiet);
	if (!read) {
		add(&t->faults, 1);
		if (quiet && allowed && !blind)
			stale(slot, "SIGSEGV from reading what is mapped", line, floor, 0);
		return;
	}
	gen = t->tag >> 16;
	if (blind)
		return;
	if (quiet && !allowed)
		stale(slot, "read without SIGSEGV what is not mapped", line, floor, gen);
	else if ((t->tag & 0xffff) != slot->index || t->owner != owner_of(slot, i))
		stale(slot, "read something else (tag in found, owner's address in expected)", line,
		      t->owner, t->tag);
	else if (gen < floor)
		stale(slot, "read an old generation", line, floor, gen);
	else if (gen > next || (quiet && gen != floor))
		stale(slot, "read a generation that is not there", line, floor, gen);
	else if (quiet && t->sum != sum_of(t->tag, t->owner))
		stale(slot, "read a wrong sum", line, sum_of(t->tag, t->owner), t->sum);
}

static void check_write(struct thread *t, struct slot *slot)
{
	uint64_t before = get(&slot->state), floor = get(&slot->gen), after;
	struct line *line = (struct line *)slot->home[STATE_WHERE(before)] + draw(t, slot->lines);
	bool written = write_line(t, line, draw(t, UINT64_MAX) | 1);
	bool allowed = STATE_PERM(before) == P_RW;
	bool quiet;

	atomic_thread_fence(memory_order_seq_cst);
	after = get(&slot->state);
	quiet = before == after && !(before & CHANGING);
	add(&t->writes, 1);
	add(&t->checks, quiet);
	add(&t->faults, !written);
	if (blind)
		return;
	if (quiet && written && !allowed)
		stale(slot, "wrote without SIGSEGV to what is not writable", line, floor, floor);
	if (quiet && !written && allowed)
		stale(slot, "SIGSEGV from writing to what is writable", line, floor, 0);
}

static void rounds(struct thread *t, uint64_t count)
{
	for (uint64_t i = 0; i < count && !stopping(); i++) {
		struct slot *slot = &run.slots[draw(t, (uint64_t)opts.pages)];
		enum perm perm = STATE_PERM(get(&slot->state));
		bool write = draw(t, 4) == 0;

		add(&t->rounds, 1);
		/* SIGSEGV takes long: most threads had better be busy without entering the kernel.
		 */
		if ((perm == P_NONE || (perm == P_RO && write)) && draw(t, 4))
			continue;
		if (write)
			check_write(t, slot);
		else
			check_read(t, slot);
	}
}

/* ---- Flushers ---- */

static char *frame_at(const struct slot *slot, unsigned int frame)
{
	return slot->alias + frame * slot->bytes;
}

static void frame_check(struct slot *slot, unsigned int frame)
{
	uint64_t hash;

	if (!slot->hashed[frame])
		return;
	hash = hash_of(slot, frame_at(slot, frame));
	if (hash != slot->hash[frame])
		stale(slot, "a page that is not mapped writable has changed (sums)",
		      frame_at(slot, frame), slot->hash[frame], hash);
}

/* From now on nobody may write to it. */
static void frame_retire(struct slot *slot, unsigned int frame)
{
	slot->hashed[frame] = true;
	slot->hash[frame] = hash_of(slot, frame_at(slot, frame));
}

static void frame_fill(struct slot *slot, unsigned int frame, uint64_t gen)
{
	frame_check(slot, frame);
	slot->hashed[frame] = false;
	put(&slot->next, gen);
	write_lines(slot, frame_at(slot, frame), gen, true);
}

static const char *frozen_at(const struct slot *slot, enum perm perm, unsigned int where)
{
	if (!slot->private)
		return frame_at(slot, slot->frame);
	return perm == P_RO ? slot->home[where] : NULL;
}

static void freeze(struct thread *t, struct slot *slot, enum perm perm, unsigned int where)
{
	const char *at = frozen_at(slot, perm, where);

	slot->frozen = at != NULL;
	if (at)
		slot->frozen_hash = rehash(t, slot, at);
}

static void thaw(struct thread *t, struct slot *slot, enum perm perm, unsigned int where)
{
	const char *at = frozen_at(slot, perm, where);
	uint64_t hash;

	if (!slot->frozen)
		return;
	slot->frozen = false;
	hash = rehash(t, slot, at);
	if (hash != slot->frozen_hash)
		stale(slot, "the page has changed while it was not writable (sums)", at,
		      slot->frozen_hash, hash);
}

static void publish(struct slot *slot, uint64_t gen, enum perm perm, unsigned int where)
{
	put(&slot->gen, gen);
	put(&slot->state, STATE(++slot->seq, where, perm));
}

static void map_frame(const struct slot *slot, unsigned int where, unsigned int frame, bool private,
		      bool over)
{
	void *at = mmap(slot->home[where], slot->bytes, PROT_READ | PROT_WRITE,
			(private ? MAP_PRIVATE : MAP_SHARED) |
				(over ? MAP_FIXED : MAP_FIXED_NOREPLACE),
			run.fd, slot->offset + (off_t)(frame * slot->bytes));

	if (at == MAP_FAILED)
		refused("mmap");
	if (at != slot->home[where])
		end(EXIT_REFUSED, "mmap: not at the address that was asked for");
}

static void __attribute__((noreturn)) child_found(struct family *family, const char *what,
						  const void *at, uint64_t expected, uint64_t found)
{
	family->what = what;
	family->address = at;
	family->expected = expected;
	family->found = found;
	put(&family->wrong, 1);
	_exit(EXIT_STALE);
}

static uint64_t child_check(struct thread *t, const struct slot *slot, char *at, uint64_t gen)
{
	struct line *lines = (struct line *)at;

	for (size_t i = 0; i < slot->lines; i++) {
		if (get(&lines[i].tag) != tag_of(slot, gen))
			child_found(t->family, "a child's page has another generation", &lines[i],
				    gen, get(&lines[i].tag) >> 16);
		if (get(&lines[i].owner) != owner_of(slot, i) ||
		    get(&lines[i].sum) != sum_of(tag_of(slot, gen), owner_of(slot, i)))
			child_found(t->family,
				    "a child's page is not the slot's (owner's address, sum)",
				    &lines[i], get(&lines[i].owner), get(&lines[i].sum));
	}
	return hash_of(slot, at);
}

/* The child's pages are its own from the moment of the fork: stores of the parent's threads must
 * not reach them. */
static void __attribute__((noreturn)) child(struct thread *t, const struct slot *slot, char *at,
					    uint64_t gen)
{
	uint64_t hash, until = now() + (uint64_t)opts.stall * SECOND;

	t->child = true;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	hash = child_check(t, slot, at, gen);
	while (!get(&t->family->go) && now() < until)
		nap(NAP_NS / 5);
	if (child_check(t, slot, at, gen) != hash)
		child_found(t->family, "the parent's stores have changed a child's page (sums)", at,
			    hash, hash_of(slot, at));
	_exit(EXIT_CLEAN);
}

static pid_t start_child(struct thread *t, const struct slot *slot, char *at, uint64_t gen)
{
	pid_t pid;

	put(&t->family->go, 0);
	put(&t->family->wrong, 0);
	pid = fork();
	if (pid < 0)
		refused("fork");
	if (!pid)
		child(t, slot, at, gen);
	return pid;
}

static void end_child(struct thread *t, const struct slot *slot, pid_t pid)
{
	uint64_t until = now() + 2 * (uint64_t)opts.stall * SECOND;
	struct finding *f;
	int status;
	pid_t got;

	rounds(t, 64);
	nap(NAP_NS / 2);
	put(&t->family->go, 1);
	while ((got = waitpid(pid, &status, WNOHANG)) == 0 && now() < until) {
		rounds(t, 8);
		add(&t->rounds, 1);
		nap(NAP_NS / 5);
	}
	if (got == 0) {
		kill(pid, SIGKILL);
		f = claim(EXIT_STUCK, "stuck");
		if (f) {
			snprintf(f->text, sizeof(f->text), "a child process does not end");
			publish_finding();
		}
	} else if (got < 0) {
		refused("waitpid");
	} else if (get(&t->family->wrong)) {
		stale(slot, t->family->what, t->family->address, t->family->expected,
		      t->family->found);
	} else if (status) {
		stale(slot, "a child process faulted or was killed (wait status in found)",
		      slot->home[0], 0, (uint64_t)status);
	}
}

static bool allowed(const struct slot *slot, enum op op, enum perm perm)
{
	if (!slot->mapped)
		return op == MMAP;
	switch (op) {
	case MMAP:
		return false;
	case RO:
		return perm != P_RO;
	case NONE:
		return perm != P_NONE;
	case RW:
		return perm != P_RW;
	case DONTNEED:
		return slot->cowed && perm != P_NONE;
	case COW:
		return slot->private && !slot->cowed && perm == P_RW;
	case FORK:
		return slot->cowed && perm == P_RW;
	default:
		return true;
	}
}

static enum op choose(struct thread *t, const struct slot *slot, enum perm perm)
{
	enum op op;

	/* SIGSEGV is slow, and who waits for it does not have the translation in use. */
	if (slot->mapped && perm == P_NONE && draw(t, 2))
		return RW;
	/* What is rarely possible comes first. */
	if (slot->mapped && allowed(slot, COW, perm) && draw(t, 2))
		return COW;
	if (slot->mapped && allowed(slot, FORK, perm) && draw(t, 8) == 0)
		return FORK;
	do {
		op = (enum op)draw(t, OPS);
	} while (op == FORK || !allowed(slot, op, perm));
	return op;
}

static void protect(const struct slot *slot, unsigned int where, int prot)
{
	if (mprotect(slot->home[where], slot->bytes, prot))
		refused("mprotect");
}

static void apply(struct thread *t, struct slot *slot, enum op op, unsigned int where,
		  unsigned int frame, bool private, uint64_t gen, pid_t *pid)
{
	char *at = slot->home[where];

	if (skip == (int)op && op != FORK && (op != SWAP || STATE_PERM(get(&slot->state)) == P_RW))
		return;
	switch (op) {
	case MUNMAP:
		if (munmap(at, slot->bytes))
			refused("munmap");
		break;
	case MMAP:
	case SWAP:
		map_frame(slot, where, frame, private, op == SWAP);
		break;
	case RO:
		protect(slot, where, PROT_READ);
		break;
	case NONE:
		protect(slot, where, PROT_NONE);
		break;
	case RW:
		protect(slot, where, PROT_READ | PROT_WRITE);
		break;
	case DONTNEED:
		if (madvise(at, slot->bytes, MADV_DONTNEED))
			refused("madvise");
		break;
	case MREMAP:
		if (mremap(at, slot->bytes, slot->bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
			   slot->home[!where]) == MAP_FAILED)
			refused("mremap");
		break;
	case FORK:
		/* The tests' broken variants: the child shares the pages. */
		if (early == (int)FORK || skip == (int)FORK) {
			write_lines(slot, frame_at(slot, slot->frame), gen - 1, true);
			map_frame(slot, where, slot->frame, false, true);
		}
		*pid = start_child(t, slot, at, gen - 1);
		if (skip != (int)FORK)
			rewrite(t, slot, at, gen);
		break;
	case COW:
		rewrite(t, slot, at, gen);
		break;
	case OPS:
		break;
	}
}

static void change(struct thread *t, struct slot *slot)
{
	uint64_t state = get(&slot->state), gen = get(&slot->gen);
	enum perm perm = STATE_PERM(state), to_perm = perm;
	unsigned int where = STATE_WHERE(state), to_where = where, frame = slot->frame;
	enum op op = choose(t, slot, perm);
	bool private = slot->private, frozen = false;
	pid_t pid = 0;

	thaw(t, slot, perm, where);
	switch (op) {
	case MUNMAP:
		to_perm = P_NONE;
		break;
	case MMAP:
	case SWAP:
		frame = (frame + 1) % FRAMES;
		frame_fill(slot, frame, ++gen);
		private = draw(t, 2);
		to_perm = P_RW;
		if (private)
			frame_retire(slot, frame);
		break;
	case RO:
	case NONE:
		to_perm = op == RO ? P_RO : P_NONE;
		frozen = true;
		break;
	case RW:
		to_perm = P_RW;
		break;
	case DONTNEED:
		/* Hidden by private copies as yet. */
		frame_fill(slot, frame, ++gen);
		frame_retire(slot, frame);
		break;
	case MREMAP:
		to_where = !where;
		break;
	case COW:
	case FORK:
		put(&slot->next, ++gen);
		break;
	case OPS:
		break;
	}
	put(&slot->op, (int)op);
	put(&slot->state, state | CHANGING);
	atomic_thread_fence(memory_order_seq_cst);
	if (early == (int)op && op != FORK) {
		publish(slot, gen, to_perm, to_where);
		nap(NAP_NS / 5);
	}
	apply(t, slot, op, where, frame, private, gen, &pid);
	publish(slot, gen, to_perm, to_where);
	add(&t->ops[op], 1);

	if ((op == SWAP || op == MUNMAP) && slot->mapped && !slot->private)
		frame_retire(slot, slot->frame);
	slot->mapped = op != MUNMAP;
	slot->frame = frame;
	slot->private = private;
	slot->cowed = op == COW || op == FORK ||
		      (slot->cowed && op != MMAP && op != SWAP && op != MUNMAP && op != DONTNEED);
	if (frozen)
		freeze(t, slot, to_perm, to_where);
	if (pid)
		end_child(t, slot, pid);
}

/* ---- Threads ---- */

static void sleep_and_measure(struct thread *t, long ns)
{
	uint64_t before = now(), late;
	struct finding *f;

	nap(ns);
	late = now() - before - (uint64_t)ns;
	add(&t->naps, 1);
	add(&t->rounds, 1);
	if (late > get(&t->late_ns))
		put(&t->late_ns, late);
	if (opts.oversleep > 0 && (double)late > opts.oversleep * 1e9) {
		f = claim(EXIT_STUCK, "late");
		if (f) {
			snprintf(f->text, sizeof(f->text), "a sleep of %ld ms lasted %.3f s more",
				 ns / 1000000, (double)late / 1e9);
			publish_finding();
		}
	}
}

static void flush_all(struct thread *t)
{
	uint64_t own = ((uint64_t)opts.pages - t->index + run.flushers - 1) / run.flushers;

	while (!stopping()) {
		struct slot *slot = &run.slots[t->index + draw(t, own) * run.flushers];
		uint64_t dwell = draw(t, 16);

		change(t, slot);
		add(&t->rounds, 1);
		if (dwell == 0)
			sleep_and_measure(t, NAP_NS);
		else if (dwell < 8)
			rounds(t, 16 << draw(t, 3));
		while (STATE_PERM(get(&slot->state)) == P_NONE && draw(t, 4)) {
			rounds(t, draw(t, 32));
			change(t, slot);
		}
	}
}

static void *thread_main(void *arg)
{
	struct thread *t = arg;

	self = t;
	pthread_barrier_wait(&run.ready);
	while (!stopping()) {
		switch (t->role) {
		case FLUSHER:
			flush_all(t);
			break;
		case BUSY:
			rounds(t, 1024);
			break;
		case IDLE:
			/* First what was in use before. */
			sleep_and_measure(t, NAP_NS);
			rounds(t, 64);
			break;
		case HEARTBEAT:
			sleep_and_measure(t, HEARTBEAT_NS);
			rounds(t, 4);
			break;
		}
	}
	atomic_fetch_sub(&run.running, 1);
	return NULL;
}

static void read_cpus(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof(set), &set))
		refused("sched_getaffinity");
	for (int cpu = 0; cpu < MAX_CPUS && cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET((unsigned int)cpu, &set))
			run.cpu[run.cpus++] = cpu;
}

static void start_thread(struct thread *t)
{
	pthread_attr_t attr;
	cpu_set_t set;
	int err;

	CPU_ZERO(&set);
	CPU_SET((unsigned int)t->cpu, &set);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	err = pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	if (!err)
		err = pthread_create(&t->handle, &attr, thread_main, t);
	pthread_attr_destroy(&attr);
	if (err)
		end(EXIT_REFUSED, "thread %u on CPU %d: %s", t->index, t->cpu, strerror(err));
}

static size_t slot_pages(unsigned int index)
{
	return index % 4 == 3 ? 4 : 1;
}

static void make_slots(void)
{
	size_t total = 0, va, offset = 0;
	char *arena, *alias;

	for (unsigned int i = 0; i < (unsigned int)opts.pages; i++)
		total += slot_pages(i) * run.page;
	run.fd = memfd_create("pv-stale", MFD_CLOEXEC);
	if (run.fd < 0)
		refused("memfd_create");
	if (ftruncate(run.fd, (off_t)(total * FRAMES)))
		refused("ftruncate");
	alias = mmap(NULL, total * FRAMES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		     run.fd, 0);
	if (alias == MAP_FAILED)
		refused("mmap");
	/* Two addresses for each slot, a page between any two. */
	va = 2 * (total + ((size_t)opts.pages + 1) * run.page);
	arena = mmap(ARENA, va, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	if (arena == MAP_FAILED)
		arena = mmap(NULL, va, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			     0);
	if (arena == MAP_FAILED)
		refused("mmap");
	run.slots = calloc((size_t)opts.pages, sizeof(*run.slots));
	if (!run.slots)
		refused("memory");
	for (unsigned int i = 0; i < (unsigned int)opts.pages; i++) {
		struct slot *slot = &run.slots[i];

		slot->index = i;
		slot->bytes = slot_pages(i) * run.page;
		slot->lines = slot->bytes / LINE;
		slot->alias = alias + offset * FRAMES;
		slot->offset = (off_t)(offset * FRAMES);
		offset += slot->bytes;
		for (unsigned int j = 0; j < 2; j++) {
			arena += run.page;
			slot->home[j] = arena;
			arena += slot->bytes;
			if (munmap(slot->home[j], slot->bytes))
				refused("munmap");
		}
		frame_fill(slot, 0, 1);
		map_frame(slot, 0, 0, false, false);
		slot->mapped = true;
		publish(slot, 1, P_RW, 0);
	}
}

static void make_threads(void)
{
	unsigned int count = (unsigned int)opts.threads;

	run.count = count + run.cpus;
	run.threads = calloc(run.count, sizeof(*run.threads));
	if (!run.threads || pthread_barrier_init(&run.ready, NULL, run.count + 1))
		refused("memory");
	run.flushers = (count + 2) / 3 < (unsigned int)opts.pages ? (count + 2) / 3
								  : (unsigned int)opts.pages;
	for (unsigned int i = 0; i < run.count; i++) {
		struct thread *t = &run.threads[i];

		t->index = i;
		t->random = mix(opts.seed + i);
		/* Each CPU gets all roles in its turn. */
		t->cpu = run.cpu[(i + i / run.cpus) % run.cpus];
		if (i >= count) {
			t->role = HEARTBEAT;
			t->cpu = run.cpu[i - count];
		} else if (i < run.flushers) {
			t->role = FLUSHER;
			t->family = mmap(NULL, run.page, PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
			if (t->family == MAP_FAILED)
				refused("mmap");
		} else {
			t->role = (i - run.flushers) % 2 ? IDLE : BUSY;
		}
	}
	run.running = run.count;
	for (unsigned int i = 0; i < run.count; i++)
		start_thread(&run.threads[i]);
}

/* ---- The main thread ---- */

struct totals {
	uint64_t reads, writes, faults, checks, naps, late_ns, ops[OPS], changes;
};

static struct totals totals(void)
{
	struct totals sum = {0};

	for (unsigned int i = 0; i < run.count; i++) {
		const struct thread *t = &run.threads[i];

		sum.reads += get(&t->reads);
		sum.writes += get(&t->writes);
		sum.faults += get(&t->faults);
		sum.checks += get(&t->checks);
		sum.naps += get(&t->naps);
		if (get(&t->late_ns) > sum.late_ns)
			sum.late_ns = get(&t->late_ns);
		for (int op = 0; op < OPS; op++)
			sum.ops[op] += get(&t->ops[op]);
	}
	for (int op = 0; op < OPS; op++)
		sum.changes += sum.ops[op];
	return sum;
}

/* Seconds that the hypervisor has kept from our CPUs so far; negative: unknown. */
static double steal(void)
{
	FILE *f = fopen("/proc/stat", "re");
	char line[512], *at = line;
	double ticks = -1;

	if (!f)
		return -1;
	if (fgets(line, sizeof(line), f) && strncmp(line, "cpu ", 4) == 0) {
		at += 4;
		for (int i = 0; i < 8; i++)
			ticks = strtod(at, &at);
	}
	fclose(f);
	return ticks < 0 ? -1 : ticks / (double)sysconf(_SC_CLK_TCK);
}

static void watch(struct thread *t, uint64_t at)
{
	uint64_t seen = get(&t->rounds);
	struct finding *f;

	if (seen != t->seen) {
		t->seen = seen;
		t->seen_at = at;
	} else if (at - t->seen_at > (uint64_t)opts.stall * SECOND) {
		f = claim(EXIT_STUCK, "stuck");
		if (f) {
			f->thread = t;
			snprintf(f->text, sizeof(f->text),
				 "thread %u (%s) on CPU %d has done nothing for %ld s", t->index,
				 role_names[t->role], t->cpu, opts.stall);
			publish_finding();
		}
	}
}

static void tell(FILE *out, double stolen)
{
	struct totals sum = totals();
	double stolen_now = steal();

	fprintf(out,
		"pv-stale: %.0f s: %" PRIu64 " changes, %" PRIu64 " accesses, %" PRIu64
		" faults, %" PRIu64 " naps, longest oversleep %.3f s, steal %.2f s\n",
		(double)(now() - run.start) / 1e9, sum.changes, sum.reads + sum.writes, sum.faults,
		sum.naps, (double)sum.late_ns / 1e9, stolen < 0 ? -1 : stolen_now - stolen);
	fflush(out);
}

static void supervise(double stolen)
{
	uint64_t until = run.start + (uint64_t)(opts.seconds * 1e9), told = run.start, last = told;

	while (!stopping()) {
		uint64_t at;

		nap(NAP_NS * 50);
		at = now();
		for (unsigned int i = 0; i < run.count; i++) {
			/* While the whole machine stood still (a pause) nobody could do anything.
			 */
			if (at - last > SECOND)
				run.threads[i].seen_at += at - last;
			watch(&run.threads[i], at);
		}
		last = at;
		if ((double)(at - told) >= opts.progress * 1e9) {
			tell(opts.json ? stderr : stdout, stolen);
			told = at;
		}
		if (at >= until)
			put(&run.stop, true);
	}
	for (int i = 0; i < 500 && get(&run.running); i++)
		nap(NAP_NS * 10);
	if (get(&run.running) && !get(&run.claimed)) {
		struct finding *f = claim(EXIT_STUCK, "stuck");

		if (f) {
			snprintf(f->text, sizeof(f->text), "%u threads do not end",
				 get(&run.running));
			publish_finding();
		}
	}
	/* Who claims publishes at once. */
	for (int i = 0; i < 100 && get(&run.claimed) && !get(&run.complete); i++)
		nap(NAP_NS * 10);
}

/* At the end nobody accesses anything: the last look at what must not have changed. */
static void last_checks(void)
{
	static struct thread main_thread;

	self = &main_thread;
	for (unsigned int i = 0; i < (unsigned int)opts.pages; i++) {
		struct slot *slot = &run.slots[i];

		thaw(self, slot, STATE_PERM(get(&slot->state)), STATE_WHERE(get(&slot->state)));
		for (unsigned int frame = 0; frame < FRAMES; frame++)
			frame_check(slot, frame);
	}
}

static const char *results[] = {[EXIT_CLEAN] = "clean",
				[EXIT_STALE] = "stale",
				[EXIT_NOTHING] = "nothing",
				[EXIT_STUCK] = "stuck"};

static void describe(const struct finding *f)
{
	fflush(stdout);
	if (f->status == EXIT_STUCK) {
		fprintf(stderr, "pv-stale: %s: %s; time %.3f s, seed %" PRIu64 "\n", f->what,
			f->text, f->time, opts.seed);
		return;
	}
	fprintf(stderr,
		"pv-stale: stale: %s: address 0x%" PRIx64 ", expected %" PRIu64 ", found %" PRIu64
		" (0x%" PRIx64 " 0x%" PRIx64
		"), after %s, now %s, CPU %d, thread %u (%s), time %.3f s, seed %" PRIu64 "\n",
		f->what, f->address, f->expected, f->found, f->expected, f->found, f->op,
		perm_names[f->perm], f->cpu, f->thread ? f->thread->index : UINT_MAX,
		f->thread ? role_names[f->thread->role] : "main", f->time, opts.seed);
}

static void print_json(int status, const struct totals *sum, double elapsed, double stolen)
{
	const struct finding *f = &run.finding;

	printf("{\"program\": \"pv-stale\", \"result\": \"%s\", \"seed\": %" PRIu64
	       ", \"elapsed_s\": %.3f, \"threads\": %ld, "
	       "\"flushers\": %u, \"cpus\": %u, \"pages\": %ld, \"ops\": {",
	       results[status], opts.seed, elapsed, opts.threads, run.flushers, run.cpus,
	       opts.pages);
	for (int op = 0; op < OPS; op++)
		printf("%s\"%s\": %" PRIu64, op ? ", " : "", op_names[op], sum->ops[op]);
	printf("}, \"reads\": %" PRIu64 ", \"writes\": %" PRIu64 ", \"exact\": %" PRIu64
	       ", \"faults\": %" PRIu64 ", \"naps\": %" PRIu64 ", \"oversleep_max_s\": %.6f, ",
	       sum->reads, sum->writes, sum->checks, sum->faults, sum->naps,
	       (double)sum->late_ns / 1e9);
	if (stolen < 0)
		printf("\"steal_s\": null, ");
	else
		printf("\"steal_s\": %.2f, ", stolen);
	if (!get(&run.claimed))
		printf("\"found\": null}\n");
	else if (f->status == EXIT_STUCK)
		printf("\"found\": {\"what\": \"%s\", \"text\": \"%s\", \"time_s\": %.3f}}\n",
		       f->what, f->text, f->time);
	else
		printf("\"found\": {\"what\": \"%s\", \"op\": \"%s\", \"address\": \"0x%" PRIx64
		       "\", \"expected\": %" PRIu64 ", \"found\": %" PRIu64
		       ", \"cpu\": %d, \"thread\": %d, \"time_s\": %.3f}}\n",
		       f->what, f->op, f->address, f->expected, f->found, f->cpu,
		       f->thread ? (int)f->thread->index : -1, f->time);
}

static int summary(double stolen)
{
	double elapsed = (double)(now() - run.start) / 1e9, stolen_now = steal();
	struct totals sum = totals();
	int status = EXIT_CLEAN;

	if (get(&run.claimed)) {
		status = run.finding.status;
		describe(&run.finding);
	} else {
		/* Nothing found, or nothing done? */
		for (int op = 0; op < OPS; op++)
			if (!sum.ops[op]) {
				fflush(stdout);
				fprintf(stderr, "pv-stale: nothing shown: no %s happened\n",
					op_names[op]);
				status = EXIT_NOTHING;
			}
		for (unsigned int i = 0; i < run.count; i++)
			if (!get(&run.threads[i].checks) && run.threads[i].role != HEARTBEAT) {
				fflush(stdout);
				fprintf(stderr,
					"pv-stale: nothing shown: thread %u checked nothing\n", i);
				status = EXIT_NOTHING;
			}
	}
	stolen = stolen < 0 || stolen_now < 0 ? -1 : stolen_now - stolen;
	if (opts.json) {
		print_json(status, &sum, elapsed, stolen);
	} else {
		printf("%s: %.1f s, %ld threads (%u flushers) on %u CPUs, %ld slots, seed %" PRIu64
		       "\n",
		       results[status], elapsed, opts.threads, run.flushers, run.cpus, opts.pages,
		       opts.seed);
		for (int op = 0; op < OPS; op++)
			printf("%-14s %12" PRIu64 "  %.0f/s\n", op_names[op], sum.ops[op],
			       (double)sum.ops[op] / elapsed);
		printf("%-14s %12" PRIu64 "\n%-14s %12" PRIu64 "\n%-14s %12" PRIu64
		       "  of these in one known state\n%-14s %12" PRIu64 "\n",
		       "reads", sum.reads, "writes", sum.writes, "exact", sum.checks, "SIGSEGV",
		       sum.faults);
		printf("%-14s %12" PRIu64 "  longest oversleep %.3f s\n", "naps", sum.naps,
		       (double)sum.late_ns / 1e9);
	}
	if (fflush(stdout) || ferror(stdout))
		end(EXIT_REFUSED, "standard output: %s", strerror(errno));
	return status;
}

/* ---- Options ---- */

static const char help_text[] =
	"Usage: pv-stale [options]\n"
	"\n"
	"Threads on all CPUs change, read and write shared mappings; finds accesses through "
	"translations that a finished\n"
	"system call has removed.\n"
	"\n"
	"      --seconds N     how long, 0.1 to 604800 (10)\n"
	"      --threads N     2 to 1024 (2 for each CPU): a third flushers, the others busy or "
	"idle (waking each\n"
	"                      millisecond); one more on each CPU measures how late sleeps of 10 "
	"ms end\n"
	"      --pages N       slots, 1 to 1024 (16); each fourth has 4 pages\n"
	"      --seed N        of all random numbers (from the clock)\n"
	"      --progress N    seconds between lines that say how far it is (5)\n"
	"      --stall N       seconds without progress of a thread that are an error, 1 to 3600 "
	"(30)\n"
	"      --oversleep N   seconds by which a sleep may be late, 0: any (5)\n"
	"      --json          print one JSON object at the end; progress goes to standard error\n"
	"  -h, --help          this text\n"
	"\n"
	"Exit status: 0 nothing stale; 1 stale, it says what; 2 bad usage; 3 the system refused "
	"something; 4 nothing shown:\n"
	"some operation never happened; 5 a thread was stuck or a timer late.\n";

static void __attribute__((format(printf, 1, 2), noreturn)) usage(const char *fmt, ...)
{
	va_list ap;

	fputs("pv-stale: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputs("\nUsage: pv-stale [options] (see --help)\n", stderr);
	exit(EXIT_USAGE);
}

/* Digits and nothing else, so that neither signs nor blanks nor an overflow pass. */
static uint64_t whole(const char *name, const char *text, uint64_t min, uint64_t max)
{
	uint64_t value = 0;
	bool good = *text;

	for (const char *p = text; *p && good; p++) {
		good = *p >= '0' && *p <= '9' && value <= (max - (uint64_t)(*p - '0')) / 10;
		value = value * 10 + (uint64_t)(*p - '0');
	}
	if (!good || value < min)
		usage("%s: '%s' is not a whole number from %" PRIu64 " to %" PRIu64, name, text,
		      min, max);
	return value;
}

static double decimal(const char *name, const char *text, double min, double max)
{
	char *rest = NULL;
	double value = 0;

	if (*text >= '0' && *text <= '9' && !text[strspn(text, "0123456789.")])
		value = strtod(text, &rest);
	if (!rest || *rest || !(value >= min && value <= max))
		usage("%s: '%s' is not a number from %g to %g", name, text, min, max);
	return value;
}

#ifdef PV_STALE_EARLY
static int operation(const char *name)
{
	for (int op = 0; op < OPS; op++)
		if (!strcmp(name, op_names[op]))
			return op;
	usage("no operation '%s'", name);
}
#endif

static void option(const char *name, const char *value)
{
	if (!strcmp(name, "--seconds"))
		opts.seconds = decimal(name, value, 0.1, MAX_SECONDS);
	else if (!strcmp(name, "--threads"))
		opts.threads = (long)whole(name, value, MIN_THREADS, MAX_THREADS);
	else if (!strcmp(name, "--pages"))
		opts.pages = (long)whole(name, value, 1, MAX_PAGES);
	else if (!strcmp(name, "--seed"))
		opts.seed = whole(name, value, 0, UINT64_MAX);
	else if (!strcmp(name, "--progress"))
		opts.progress = decimal(name, value, 0.1, MAX_SECONDS);
	else if (!strcmp(name, "--stall"))
		opts.stall = (long)whole(name, value, 1, 3600);
	else if (!strcmp(name, "--oversleep"))
		opts.oversleep = decimal(name, value, 0, MAX_SECONDS);
#ifdef PV_STALE_EARLY
	else if (!strcmp(name, "--early"))
		early = operation(value);
	else if (!strcmp(name, "--skip"))
		skip = operation(value);
#endif
	else
		usage("unknown option '%s'", name);
}

static void read_options(int argc, char *argv[])
{
	char name[32];

	opts.seed = mix(now() ^ (uint64_t)time(NULL) << 20 ^ (uint64_t)getpid()) >> 16;
	for (int i = 1; i < argc; i++) {
		const char *arg = argv[i], *equal = strchr(arg, '=');

		if (!strcmp(arg, "--help") || !strcmp(arg, "-h")) {
			fputs(help_text, stdout);
			if (fflush(stdout))
				exit(EXIT_REFUSED);
			exit(EXIT_CLEAN);
		} else if (!strcmp(arg, "--json")) {
			opts.json = true;
#ifdef PV_STALE_EARLY
		} else if (!strcmp(arg, "--blind")) {
			blind = true;
#endif
		} else if (strncmp(arg, "--", 2) != 0) {
			usage("'%s' is not an option", arg);
		} else if (equal) {
			snprintf(name, sizeof(name), "%.*s", (int)(equal - arg), arg);
			option(name, equal + 1);
		} else {
			option(arg, ++i < argc ? argv[i] : "");
		}
	}
}

int main(int argc, char *argv[])
{
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
	static char buffer[65536];
	double stolen;
	int status;

	/* No allocation once the threads run. */
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	read_options(argc, argv);
	run.page = (size_t)sysconf(_SC_PAGESIZE);
	read_cpus();
	if (opts.threads < 0)
		opts.threads = 2 * (long)run.cpus;
	if (opts.threads < MIN_THREADS)
		opts.threads = MIN_THREADS;
	sigemptyset(&action.sa_mask);
	if (sigaction(SIGSEGV, &action, NULL) || sigaction(SIGBUS, &action, NULL))
		refused("sigaction");
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	fprintf(stderr, "pv-stale: seed %" PRIu64 "\n", opts.seed);
	make_slots();
	make_threads();
	stolen = steal();
	run.start = now();
	for (unsigned int i = 0; i < run.count; i++)
		run.threads[i].seen_at = run.start;
	pthread_barrier_wait(&run.ready);
	supervise(stolen);
	if (!get(&run.claimed) && !get(&run.running))
		last_checks();
	status = summary(stolen);
	fflush(NULL);
	/* Threads that are stuck do not keep it. */
	_exit(status);
}
