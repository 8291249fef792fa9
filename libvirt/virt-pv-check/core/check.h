/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The core of virt-pv-check: facts of hosts, facts of guests, policy, verdict, fleet. Nothing in
 * core/ does I/O: a source is a buffer, an answer is a struct, a failure is one line of text.
 *
 * A set of features is a mask: bit N is feature N of the architecture's table (feature.c), which
 * drives everything. "Unknown" is never a bit of its own: it is what is neither in yes nor in no.
 */
#ifndef CHECK_H
#define CHECK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define MAX_BYTES ((size_t)4 << 20) /* bytes of any document that is read */
#define NAME_ROOM 256
#define TEXT_ROOM 256
#define MAX_FEATURES 32

/* Exit codes; documented in the man page, never renumbered. */
enum {
	EXIT_ALLOWED = 0,
	EXIT_REFUSED = 1,
	EXIT_USAGE = 2,
	EXIT_UNKNOWN = 3,
	EXIT_BAD_INPUT = 4,
	EXIT_TROUBLE = 5, /* the machine, libvirt or the check itself failed */
};

/* One line that says what is wrong. */
struct problem {
	char text[512];
};

bool wrong(struct problem *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* text.c */
/* UTF-8 on one line without control characters, not empty, shorter than NAME_ROOM. */
bool is_name(const char *text);
bool is_utf8(const char *text, size_t length);
/* Copies, cutting off what is too long and replacing what a terminal should not see. */
void put_clean(char *out, size_t room, const char *text);
/* "2027-01-31" to days since the epoch; false if that is no date. */
bool parse_date(const char *text, long *days);
/* Refuses input that is empty or larger than MAX_BYTES. */
bool size_is_fine(size_t length, struct problem *p);
/* A JSON document of at most MAX_BYTES bytes; @flags of jansson beside ours. NULL and a problem. */
json_t *load_json(const char *text, size_t length, size_t flags, struct problem *p);
/* False and a problem if @object has a key beside @keys (NULL at the end). */
bool only_keys(json_t *object, const char *where, const char *const *keys, struct problem *p);

/* feature.c */
enum arch { ARCH_X86, ARCH_LOONGARCH, ARCH_ARM64, ARCHS /* also: another one */ };
enum part { PART_KERNEL, PART_QEMU, PART_LIBVIRT, PARTS };

enum probe {
	PROBE_CPUID,	/* CPUID 0x40000001 EAX, bit @number */
	PROBE_VM_ATTR,	/* KVM_HAS_DEVICE_ATTR, group KVM_LOONGARCH_VM_FEAT_CTRL, attribute @number
			 */
	PROBE_CAP,	/* KVM_CHECK_EXTENSION @number */
	PROBE_QEMU,	/* a hint from QEMU to the guest; the kernel has no part in it */
	PROBE_PROPOSED, /* no kernel has it; a number was only proposed */
};

struct feature {
	const char *name;	  /* in QEMU and in CPU XML */
	const char *libvirt_name; /* where libvirt's differs, else NULL */
	enum probe probe;
	unsigned int number;
	bool by_default; /* QEMU sets it for every CPU model where the kernel offers it */
	bool by_host;	 /* "host" and "max" include it */
	const char *bit; /* the evidence, in words */
};

struct arch_table {
	const char *name; /* as uname(2), libvirt and QEMU's binaries call it */
	const struct feature *features;
	unsigned int n;
	bool any_name;	       /* libvirt hands every feature name to QEMU unchecked */
	const char *qemu_type; /* whose properties are listed */
	const char *expansion; /* type of query-cpu-model-expansion */
	const char *kvm_model; /* the CPU that has all there is under KVM */
};

extern const struct arch_table arch_tables[ARCHS];
extern const char *const part_names[PARTS];

enum arch arch_by_name(const char *name);
uint32_t all_features(enum arch arch);
uint32_t default_features(enum arch arch);
uint32_t host_cpu_features(enum arch arch);
/* The bit of a feature, by any of its names ('_' is as good as '-'); 0 if there is none. */
uint32_t feature_bit(enum arch arch, const char *name);
/* "kvm-a, kvm-b"; "none". */
void put_features(FILE *out, enum arch arch, uint32_t set);
json_t *features_to_json(enum arch arch, uint32_t set);

struct offer {
	uint32_t yes, no;
};

/* What the kernel said; only the field of the architecture counts. */
struct kernel_answer {
	uint32_t cpuid_eax;	    /* x86: leaf 0x40000001 of KVM_GET_SUPPORTED_CPUID */
	uint64_t attr_yes, attr_no; /* LoongArch: by number of attribute */
	int cap_steal_time;	    /* arm64: KVM_CHECK_EXTENSION; negative: unknown */
};

struct offer offer_of_kernel(enum arch arch, const struct kernel_answer *answer);

/* host.c */
struct host {
	char name[NAME_ROOM];
	enum arch arch;
	struct offer offer[PARTS];
	char about[PARTS][TEXT_ROOM]; /* version */
	char why[PARTS][TEXT_ROOM];   /* why some are unknown */
	char emulator[NAME_ROOM];     /* the binary that the QEMU part is about; may be empty */
};

void host_init(struct host *host, const char *name, enum arch arch);
/* The format of docs/virt-pv-check.md, "Saved hosts". */
bool host_from_json(const char *text, size_t length, struct host *host, struct problem *p);
json_t *host_to_json(const struct host *host);
/*
 * What virsh domcapabilities or virsh capabilities prints: partial facts. The name of the host is
 * not in there: the caller sets it before.
 */
bool host_from_capabilities(const char *text, size_t length, struct host *host, struct problem *p);
/* Kernel and QEMU offer it. */
struct offer host_offer(const struct host *host);

/* qmp.c */
struct qemu_answer {
	char version[TEXT_ROOM];
	bool kvm;
	uint32_t listed; /* properties that it has */
	uint32_t on;	 /* and that the CPU with all there is has on */
};

/* The commands for one QEMU that is started with -machine none; free(). */
char *qmp_questions(enum arch arch);
/* All that it said. */
bool qmp_answers(enum arch arch, const char *text, size_t length, struct qemu_answer *answer,
		 struct problem *p);
struct offer offer_of_qemu(enum arch arch, const struct qemu_answer *answer,
			   const struct offer *kernel, char *why, size_t room);
/* The path of the first vCPU out of query-cpus-fast. */
bool monitor_cpu_path(const char *text, size_t length, char *path, size_t room, struct problem *p);
/* qom-get of a boolean: 1, 0, or -1: no such property. */
int monitor_bool(const char *text, size_t length);
/* guest-exec and guest-exec-status of "dmesg". */
bool agent_pid(const char *text, size_t length, long long *pid, struct problem *p);
/* True when it is done; *@log is NUL-terminated, to be freed. */
bool agent_output(const char *text, size_t length, bool *done, char **log, struct problem *p);
/* Which features the guest's kernel log says to be in use, or not. */
struct offer active_by_log(enum arch arch, const char *log);

/* guest.c */
enum cpu_mode { MODE_NONE, MODE_CUSTOM, MODE_HOST_MODEL, MODE_HOST, MODE_MAXIMUM };
extern const char *const mode_names[];

struct guest {
	char name[NAME_ROOM];
	char uuid[NAME_ROOM]; /* may be empty */
	char arch_name[NAME_ROOM];
	enum arch arch;
	bool kvm;
	bool hidden; /* the guest is not told that it runs on KVM */
	enum cpu_mode mode;
	char emulator[NAME_ROOM];
	unsigned int vcpus;
	bool mwait;	   /* shown to the guest */
	bool enforce;	   /* kvm-pv-enforce-cpuid: "off" is more than advice */
	uint32_t on;	   /* required or forced */
	uint32_t optional; /* counts as live */
	uint32_t off;	   /* disabled or forbidden */
	uint32_t named;	   /* in <cpu>: libvirt must know the name */
	uint32_t asked;	   /* QEMU is given the property, on or off: it must have it */
	uint32_t unclear;  /* on QEMU's command line, in a way that is not understood */
	struct offer seen; /* what the running QEMU says the vCPU has (on request only) */
};

bool guest_from_xml(const char *text, size_t length, struct guest *guest, struct problem *p);
/* What the guest may be using; @source may be NULL: not known. */
struct offer guest_live(const struct guest *guest, const struct host *source);
/* Calls @say for each thing in the guest's definition that contradicts another one. */
void guest_contradictions(const struct guest *guest, void (*say)(void *data, const char *text),
			  void *data);

/* policy.c */
struct policy;
struct host_rules {
	uint32_t require, forbid, ignore;
	uint32_t excepted; /* part of ignore: until a date */
	uint32_t expired;  /* exceptions that are over */
	bool has_level;
	uint32_t level;
};

struct policy *policy_from_json(const char *text, size_t length, struct problem *p);
void policy_free(struct policy *policy);
/* @policy may be NULL: no rules. @today in days since the epoch. */
struct host_rules policy_for(const struct policy *policy, const char *host, enum arch arch,
			     long today);

/* judge.c */
enum verdict { VERDICT_ALLOW, VERDICT_REFUSE, VERDICT_UNKNOWN };
extern const char *const verdict_names[];

struct judgement {
	enum verdict verdict;
	char whole[TEXT_ROOM]; /* a reason that is about no single feature */
	struct offer live;     /* after the policy's level */
	uint32_t by_level;     /* what the level decided */
	uint32_t lacks[PARTS], unknown[PARTS];
	uint32_t unsure; /* part of unknown: the guest may or may not use it */
	uint32_t forbidden, forbidden_unsure, required, required_unsure;
	uint32_t extra;
};

/* @definite: leave out what is unknown about the guest (another check will know). */
struct judgement judge(const struct guest *guest, const struct host *source, const struct host *to,
		       const struct host_rules *rules, bool definite);

struct reason {
	const struct feature *feature; /* NULL: the whole */
	bool unknown;
	char text[TEXT_ROOM * 2];
	char remedy[TEXT_ROOM * 2];
};

/* Writes the first @room reasons; returns how many there are. Refusals come first. */
size_t judgement_reasons(const struct judgement *j, const struct guest *guest,
			 const struct host *to, struct reason *reasons, size_t room);

/* fleet.c */
struct fleet {
	enum arch arch;
	size_t n;	 /* hosts of this architecture */
	uint32_t level;	 /* all offer it */
	uint32_t any;	 /* at least one does */
	uint32_t named;	 /* every libvirt knows the name */
	uint32_t wanted; /* by the policy */
};

struct fleet fleet_of(const struct host *hosts, const struct host_rules *rules, size_t n,
		      enum arch arch);
/* CPU XML for a guest that must run on each of them. */
void put_fleet_cpu(FILE *out, const struct fleet *fleet);

#endif
