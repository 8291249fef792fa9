// SPDX-License-Identifier: GPL-2.0-only
/*
 * What this guest is: feature offered by the hypervisor, in use by the kernel, and the counters.
 * PV_PROC_ROOT names a folder with fixtures that are read in place of /proc, /dev/kmsg and CPUID;
 * the state event then says "fixture": true, which pv-collect refuses.
 */
#include "guest.h"
#include "pv.h"

#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifdef __x86_64__
#include <cpuid.h>
#endif

#define SIGNATURE_KVM "KVMKVMKVM"

/* Bits of KVM's feature word: x86 CPUID 0x40000001 EAX, LoongArch CPUCFG 0x40000004. */
static const struct {
	const char *name;
	unsigned int bit;
} features[] = {
#if defined(__x86_64__)
	{"kvm-steal-time", 5},
	{"kvm-pv-unhalt", 7},
	{"kvm-pv-tlb-flush", 9},
	{"kvm-pv-ipi", 11},
	{"kvm-pv-sched-yield", 13},
#elif defined(__loongarch__)
	{"kvm-pv-ipi", 1}, {"kvm-steal-time", 2}, {"kvm-pv-preempt", 3}, {"kvm-pv-tlb-flush", 4},
#endif
	{NULL, 0},
};

/* What the guest kernel says at boot when it takes a feature into use. */
static const struct {
	const char *feature;
	const char *yes;
	const char *no; /* NULL: silence in a complete log means no */
} kernel_words[] = {
#if defined(__x86_64__) || defined(__loongarch__)
	{"kvm-pv-tlb-flush", "KVM setup pv remote TLB flush", NULL},
#endif
#if defined(__loongarch__)
	{"kvm-pv-preempt", "steal-time with preempt enabled", "steal-time with preempt disabled"},
#endif
	{NULL, NULL, NULL},
};

static const char *const irq_names[IRQ_ROWS] = {
	[IRQ_TLB] = "TLB", [IRQ_RES] = "RES",	[IRQ_CAL] = "CAL",
	[IRQ_LOC] = "LOC", [IRQ_IPI0] = "IPI0", [IRQ_IPI1] = "IPI1",
};

static const char *fixture_root(void)
{
	return getenv("PV_PROC_ROOT");
}

/* A file of /proc, or the fixture with that name. */
static FILE *open_proc(const char *name)
{
	const char *root = fixture_root();
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", root ? root : "/proc", name);
	return fopen(path, "re");
}

static int open_kmsg(void)
{
	const char *root = fixture_root();
	char path[4096];

	snprintf(path, sizeof(path), "%s/kmsg", root ? root : "/dev");
	return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

static void read_word(const char *path, char *buf, size_t size)
{
	FILE *f = fopen(path, "re");

	buf[0] = '\0';
	if (!f)
		return;
	if (!fgets(buf, (int)size, f))
		buf[0] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	fclose(f);
}

/* ---- counters ---- */

/* The sum of the leading numbers of @text, at most @cpus of them; -1: none, or nonsense. */
static int64_t sum_row(char *text, long cpus)
{
	char *save = NULL, *word = strtok_r(text, " \t\n", &save);
	int64_t sum = 0;
	long n, i;

	for (i = 0; word && i < cpus; i++, word = strtok_r(NULL, " \t\n", &save)) {
		if (!pv_parse_long(word, 0, INT32_MAX * 2L + 1, &n))
			break;
		sum += n;
	}
	return i ? sum : -1;
}

static void read_interrupts(int64_t irq[IRQ_ROWS])
{
	FILE *f = open_proc("interrupts");
	char *line = NULL, *colon, *label;
	size_t size = 0;
	long cpus = 0;

	for (int i = 0; i < IRQ_ROWS; i++)
		irq[i] = -1;
	if (!f)
		return;
	while (getline(&line, &size, f) > 0) {
		colon = strchr(line, ':');
		if (!colon) {
			/* The first line has one "CPUn" for every CPU that is online. */
			for (label = line; (label = strstr(label, "CPU")); label += 3)
				cpus++;
			continue;
		}
		*colon = '\0';
		label = line + strspn(line, " ");
		for (int i = 0; i < IRQ_ROWS; i++)
			if (!strcmp(label, irq_names[i]))
				irq[i] = sum_row(colon + 1, cpus);
	}
	free(line);
	fclose(f);
}

/* cpu  user nice system idle iowait irq softirq steal guest guest_nice */
static int64_t read_steal(void)
{
	FILE *f = open_proc("stat");
	uint64_t steal;
	char line[512];
	int64_t got = -1;

	if (!f)
		return -1;
	if (fgets(line, sizeof(line), f) &&
	    sscanf(line, "cpu %*u %*u %*u %*u %*u %*u %*u %" SCNu64 " ", &steal) == 1 &&
	    steal <= INT64_MAX)
		got = (int64_t)steal;
	fclose(f);
	return got;
}

void probe_counters(struct counters *c)
{
	read_interrupts(c->irq);
	c->steal_ticks = read_steal();
}

json_t *probe_interrupts(const struct counters *before, const struct counters *after)
{
	json_t *obj = json_object();

	for (int i = 0; i < IRQ_ROWS; i++) {
		int64_t a = before->irq[i], b = after->irq[i];

		if (a >= 0 && b >= a)
			json_object_set_new(obj, irq_names[i], json_integer(b - a));
		else if (i < IRQ_IPI0)
			json_object_set_new(obj, irq_names[i], json_null());
	}
	return obj;
}

json_t *probe_steal(const struct state *st, const struct counters *before,
		    const struct counters *after)
{
	int64_t a = before->steal_ticks, b = after->steal_ticks;

	if (!st->steal || a < 0 || b < a)
		return json_null();
	return json_real((double)(b - a) / (double)sysconf(_SC_CLK_TCK));
}

/* ---- hypervisor ---- */

#ifdef __x86_64__
struct cpuid_regs {
	uint32_t a, b, c, d;
};

/* Fixture: lines "LEAF EAX EBX ECX EDX" in hexadecimal; leaves that are missing are 0. */
static void cpuid(uint32_t leaf, struct cpuid_regs *r)
{
	struct cpuid_regs row;
	uint32_t row_leaf;
	char line[128];
	FILE *f;

	memset(r, 0, sizeof(*r));
	if (!fixture_root()) {
		__cpuid(leaf, r->a, r->b, r->c, r->d);
		return;
	}
	f = open_proc("cpuid");
	if (!f)
		return;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%" SCNx32 " %" SCNx32 " %" SCNx32 " %" SCNx32 " %" SCNx32,
			   &row_leaf, &row.a, &row.b, &row.c, &row.d) == 5 &&
		    row_leaf == leaf)
			*r = row;
	fclose(f);
}

static void probe_hypervisor(struct hypervisor *h)
{
	struct cpuid_regs r;
	uint32_t leaf;

	cpuid(1, &r);
	*h = (struct hypervisor){.known = true, .mwait = (int)(r.c >> 3 & 1)};
	if (!(r.c >> 31))
		return; /* no hypervisor */
	/* With Hyper-V enlightenments KVM's leaves start further up. */
	for (leaf = 0x40000000; leaf < 0x40010000; leaf += 0x100) {
		cpuid(leaf, &r);
		memcpy(h->signature, &r.b, 4);
		memcpy(h->signature + 4, &r.c, 4);
		memcpy(h->signature + 8, &r.d, 4);
		h->kvm = !strcmp(h->signature, SIGNATURE_KVM);
		if (h->kvm)
			break;
	}
	if (h->kvm) {
		cpuid(leaf + 1, &r);
		h->features = r.a;
		h->hints = r.d;
		return;
	}
	cpuid(0x40000000, &r);
	memcpy(h->signature, &r.b, 4);
	memcpy(h->signature + 4, &r.c, 4);
	memcpy(h->signature + 8, &r.d, 4);
}
#elif defined(__loongarch__)
static uint32_t cpucfg(uint32_t reg)
{
	uint32_t value;

	__asm__ volatile("cpucfg %0, %1" : "=r"(value) : "r"(reg));
	return value;
}

/* Registers that a CPU does not have read as 0; KVM answers from 0x40000000 on. */
static void probe_hypervisor(struct hypervisor *h)
{
	uint32_t signature = cpucfg(0x40000000);

	*h = (struct hypervisor){.known = true, .mwait = -1};
	memcpy(h->signature, &signature, sizeof(signature));
	h->kvm = !memcmp(&signature, "KVM", sizeof(signature));
	if (h->kvm)
		h->features = cpucfg(0x40000004);
}
#else
static void probe_hypervisor(struct hypervisor *h)
{
	*h = (struct hypervisor){.mwait = -1};
}
#endif

static const char *yes_no(bool yes)
{
	return yes ? "yes" : "no";
}

static const char *probe_offered(const struct hypervisor *h, const char *feature)
{
	for (int i = 0; h->known && features[i].name; i++)
		if (!strcmp(features[i].name, feature))
			return yes_no(h->kvm && h->features >> features[i].bit & 1);
	return "unknown";
}

/* ---- the kernel's own word ---- */

struct kmsg {
	bool seen_first;   /* some record was read */
	bool complete;	   /* from sequence 0 on, none lost */
	uint64_t next_seq; /* 0 before the first record */
	bool yes, no;
	const char *yes_text, *no_text;
};

/* "PRIORITY,SEQUENCE,...;TEXT"; lines that begin with a blank belong to the record before. */
static void kmsg_line(struct kmsg *k, const char *line)
{
	uint64_t seq;
	unsigned int pri;
	const char *text = strchr(line, ';');

	if (line[0] == ' ' || line[0] == '\0')
		return;
	if (!text || sscanf(line, "%u,%" SCNu64 ",", &pri, &seq) != 2) {
		k->complete = false;
		return;
	}
	if (!k->seen_first)
		k->complete = seq == 0;
	else if (seq != k->next_seq)
		k->complete = false;
	k->seen_first = true;
	k->next_seq = seq + 1;
	/* Facility 0 is the kernel's; user space cannot write it. */
	if (pri >> 3)
		return;
	if (strstr(text, k->yes_text))
		k->yes = true;
	if (k->no_text && strstr(text, k->no_text))
		k->no = true;
}

/* Each read() of /dev/kmsg is one record; a fixture comes in blocks, hence the carrying over. */
static void kmsg_read(struct kmsg *k)
{
	static char buf[65536];
	size_t len = 0;
	ssize_t got;
	char *line, *end;
	int fd = open_kmsg();

	if (fd < 0)
		return;
	for (;;) {
		got = read(fd, buf + len, sizeof(buf) - 1 - len);
		if (got < 0 && errno == EPIPE) {
			/* Records were overwritten while we read. */
			k->complete = false;
			continue;
		}
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno != EAGAIN)
			k->complete = false;
		if (got <= 0)
			break;
		len += (size_t)got;
		buf[len] = '\0';
		for (line = buf; (end = memchr(line, '\n', (size_t)(buf + len - line)));
		     line = end + 1) {
			*end = '\0';
			kmsg_line(k, line);
		}
		len = (size_t)(buf + len - line);
		memmove(buf, line, len);
		if (len == sizeof(buf) - 1) {
			k->complete = false;
			len = 0;
		}
	}
	close(fd);
}

static const char *probe_active(const char *feature)
{
	struct kmsg k = {0};

	for (int i = 0; kernel_words[i].feature; i++) {
		if (strcmp(kernel_words[i].feature, feature) != 0)
			continue;
		k.yes_text = kernel_words[i].yes;
		k.no_text = kernel_words[i].no;
		kmsg_read(&k);
		if (k.yes && k.no)
			return "unknown";
		if (k.yes || k.no)
			return yes_no(k.yes);
		return k.complete && !k.no_text ? "no" : "unknown";
	}
	return "unknown";
}

/* ---- all of it ---- */

bool feature_valid(const char *name)
{
	return name[0] && strlen(name) < sizeof(((struct state *)NULL)->feature) &&
	       name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0';
}

static bool cmdline_has(const char *word)
{
	FILE *f = open_proc("cmdline");
	char line[8192], *rest = line, *w;
	bool found = false;

	if (!f)
		return false;
	if (fgets(line, sizeof(line), f))
		while ((w = strsep(&rest, " \n")))
			found |= !strcmp(w, word);
	fclose(f);
	return found;
}

void probe_state(struct state *st, const char *feature)
{
	struct hypervisor h;
	struct utsname u;

	memset(st, 0, sizeof(*st));
	snprintf(st->feature, sizeof(st->feature), "%s", feature);
	probe_hypervisor(&h);
	st->offered = probe_offered(&h, feature);
	st->active = probe_active(feature);
	st->vcpus = sysconf(_SC_NPROCESSORS_ONLN);
	st->steal =
		!strcmp(probe_offered(&h, "kvm-steal-time"), "yes") && !cmdline_has("no-steal-acc");
	if (!uname(&u)) {
		snprintf(st->kernel, sizeof(st->kernel), "%s", u.release);
		snprintf(st->build, sizeof(st->build), "%s", u.version);
	}
}

static json_t *bool_or_null(bool known, bool value)
{
	return known ? json_boolean(value) : json_null();
}

static json_t *memory_kb(void)
{
	FILE *f = open_proc("meminfo");
	json_t *kb = json_null();
	char line[128];
	long n;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemTotal: %ld kB", &n) == 1)
			kb = json_integer(n);
	if (f)
		fclose(f);
	return kb;
}

json_t *probe_event(const struct state *st, bool barrier, size_t jobs)
{
	struct hypervisor h;
	char clocksource[64];
	json_t *event;

	probe_hypervisor(&h);
	read_word("/sys/devices/system/clocksource/clocksource0/current_clocksource", clocksource,
		  sizeof(clocksource));
	event = json_pack("{s:s, s:i, s:s, s:s, s:s, s:I, s:b, s:I, s:s, s:s, s:s}", "event",
			  "state", "version", 1, "feature", st->feature, "offered", st->offered,
			  "active", st->active, "vcpus", (json_int_t)st->vcpus, "barrier", barrier,
			  "jobs", (json_int_t)jobs, "kernel", st->kernel, "build", st->build,
			  "glibc", gnu_get_libc_version());
	if (!event)
		pv_die(PV_EXIT_FAILED, "no memory, or the kernel's name is not UTF-8");
	json_object_set_new(event, "clocksource", json_string(clocksource));
	json_object_set_new(event, "mem_kb", memory_kb());
	json_object_set_new(event, "hypervisor", h.known ? json_string(h.signature) : json_null());
	json_object_set_new(event, "steal", json_boolean(st->steal));
	json_object_set_new(event, "dedicated", bool_or_null(h.mwait >= 0 && h.kvm, h.hints & 1));
	json_object_set_new(event, "mwait", bool_or_null(h.mwait >= 0, h.mwait > 0));
	if (fixture_root())
		json_object_set_new(event, "fixture", json_true());
	return event;
}
