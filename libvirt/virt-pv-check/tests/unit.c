// SPDX-License-Identifier: GPL-2.0-only
/* The parts of the core that commands on files do not show; prints TAP. */
#include "core/check.h"

#include <stdlib.h>
#include <string.h>

#define J(text) text, strlen(text)

static int count, failed;

static void ok(bool good, const char *name)
{
	printf("%sok %d - %s\n", good ? "" : "not ", ++count, name);
	failed += !good;
}

static void is_set(enum arch arch, uint32_t got, const char *wanted, const char *name)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	put_features(out, arch, got);
	fclose(out);
	ok(!strcmp(text, wanted), name);
	if (strcmp(text, wanted) != 0)
		printf("#      got: %s\n#   wanted: %s\n", text, wanted);
	free(text);
}

static void test_text(void)
{
	char out[8];
	long days;

	ok(parse_date("1970-01-01", &days) && days == 0, "the epoch");
	ok(parse_date("2000-02-29", &days) && days == 11016, "a leap day");
	ok(parse_date("2000-03-01", &days) && days == 11017, "the day after");
	ok(parse_date("2026-11-30", &days) && days == 20787, "a day");
	ok(parse_date("2100-03-01", &days) && days == 47541, "after a year that is no leap year");
	ok(!parse_date("2100-02-29", &days) && !parse_date("2026-13-01", &days) &&
		   !parse_date("2026-00-01", &days) && !parse_date("2026-01-00", &days) &&
		   !parse_date("2026-04-31", &days),
	   "days that are none");
	ok(!parse_date("", &days) && !parse_date("2026-1-1", &days) &&
		   !parse_date("2026-01-01T", &days) && !parse_date("2026/01/01", &days) &&
		   !parse_date("1969-12-31", &days),
	   "what is no date");
	ok(is_name("gäst-1") && !is_name("") && !is_name("a\nb") && !is_name("a\033[m") &&
		   !is_name("\xc2\x85") && !is_name("\xed\xa0\x80") && !is_name("\xc0\xaf") &&
		   !is_name("\xf4\x90\x80\x80"),
	   "names");
	ok(!is_utf8("a\0b", 3) && is_utf8("", 0) && !is_utf8("\xe2\x82", 2), "UTF-8");
	put_clean(out, sizeof(out), "a\033b\xff\n");
	ok(!strcmp(out, "a?b?"), "what a terminal should not see");
	put_clean(out, sizeof(out), "123456\xc3\xa4");
	ok(!strcmp(out, "123456"), "a character is not cut in two");
}

static bool guest(struct guest *g, const char *inside)
{
	char xml[4096];
	struct problem p;
	bool good;

	snprintf(xml, sizeof(xml),
		 "<domain type='kvm' "
		 "xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'><name>g</name>"
		 "<vcpu>4</vcpu><os><type arch='x86_64'>hvm</type></os>%s</domain>",
		 inside);
	good = guest_from_xml(xml, strlen(xml), g, &p);
	if (!good)
		printf("# %s\n", p.text);
	return good;
}

static void test_guest(void)
{
	struct guest g;

	ok(guest(&g,
		 "<cpu><feature name='kvm-pv-ipi'/><feature policy='force' name='kvm_steal_time'/>"
		 "<feature policy='forbid' name='kvm-pv-eoi'/><feature policy='require' "
		 "name='ht'/></cpu>"),
	   "policies");
	is_set(g.arch, g.on, "kvm-steal-time, kvm-pv-ipi",
	       "require is the default, force is as require, _ as -");
	is_set(g.arch, g.off, "kvm-pv-eoi", "forbid is as disable");
	is_set(g.arch, g.named, "kvm-steal-time, kvm-pv-eoi, kvm-pv-ipi",
	       "libvirt must know all three");
	ok(g.mode == MODE_CUSTOM, "no mode: custom");
	ok(guest(&g, "") && g.mode == MODE_NONE, "no <cpu>");
	ok(guest(&g, "<features><kvm><hint-dedicated state='on'/><poll-control "
		     "state='off'/><pv-ipi state='on'/></kvm>"
		     "<pvspinlock state='off'/><apic eoi='on'/></features>"
		     "<clock><timer name='pit'/><timer name='kvmclock' present='no'/></clock>"),
	   "elements of libvirt");
	is_set(g.arch, g.on, "kvm-pv-eoi, kvm-pv-ipi, kvm-hint-dedicated", "on");
	is_set(g.arch, g.off, "kvmclock, kvm-pv-unhalt, kvm-poll-control", "off");
	is_set(g.arch, g.named, "none", "libvirt need not know a name");
	ok(!guest(&g, "<features><kvm><pv-ipi state='perhaps'/></kvm></features>"),
	   "a state that is none");
	ok(!guest(&g, "<cpu/><cpu/>"), "two CPUs");
	ok(guest(&g, "<cpu mode='custom'><feature policy='disable' name='kvm-pv-ipi'/></cpu>"
		     "<features><kvm><pv-ipi state='on'/></kvm></features>"),
	   "both on and off");
	is_set(g.arch, g.unclear, "kvm-pv-ipi", "is unclear");
	ok(guest(&g, "<qemu:commandline><qemu:arg value='-global'/>"
		     "<qemu:arg value='host-x86_64-cpu.kvm-pv-tlb-flush=on'/><qemu:arg "
		     "value='-global'/>"
		     "<qemu:arg value='driver=x,property=kvm-pv-ipi,value=on'/><qemu:arg "
		     "value='-overcommit'/>"
		     "<qemu:arg value='cpu-pm=on'/></qemu:commandline>"),
	   "QEMU's command line");
	is_set(g.arch, g.on, "kvm-pv-tlb-flush", "-global");
	is_set(g.arch, g.unclear, "kvm-pv-ipi", "-global in another form is unclear");
	ok(g.mwait, "cpu-pm shows MWAIT");
	ok(guest(&g, "<cpu mode='custom'><feature "
		     "name='kvm-pv-eoi'/></cpu><qemu:commandline><qemu:arg value='-cpu'/>"
		     "<qemu:arg "
		     "value='host,+kvm_pv_unhalt,-kvm-asyncpf,kvm-pv-enforce-cpuid=on,kvm-pv-ipi="
		     "maybe'/>"
		     "</qemu:commandline>"),
	   "-cpu");
	is_set(g.arch, g.on, "kvm-pv-unhalt", "takes the place of libvirt's");
	is_set(g.arch, g.off, "kvm-asyncpf", "with a sign");
	is_set(g.arch, g.unclear, "kvm-pv-ipi", "a value that is none is unclear");
	is_set(g.arch, g.named, "kvm-pv-eoi", "libvirt reads the XML all the same");
	ok(g.mode == MODE_HOST && g.enforce, "host, with kvm-pv-enforce-cpuid");
}

static struct host host(const char *yes, const char *no)
{
	struct host h;

	host_init(&h, "h", ARCH_X86);
	h.offer[PART_KERNEL].yes = h.offer[PART_QEMU].yes =
		all_features(ARCH_X86) & ~feature_bit(ARCH_X86, no);
	h.offer[PART_KERNEL].no = feature_bit(ARCH_X86, no);
	if (*yes)
		h.offer[PART_KERNEL].yes = h.offer[PART_QEMU].yes = feature_bit(ARCH_X86, yes);
	return h;
}

static void test_live(void)
{
	struct host source = host("", "kvm-pv-tlb-flush"), ipi = host("kvm-pv-ipi", "kvm-asyncpf");
	struct offer live;
	struct guest g;

	guest(&g, "<cpu mode='custom'><feature policy='optional' name='kvm-pv-ipi'/></cpu>");
	live = guest_live(&g, NULL);
	is_set(g.arch, live.yes, "kvm-pv-ipi", "optional is live");
	ok(!(live.no & feature_bit(g.arch, "kvmclock")) &&
		   live.no & feature_bit(g.arch, "kvm-pv-unhalt"),
	   "what is on by default is unknown, what is off by default is not live");
	guest(&g, "<cpu mode='host-passthrough'/>");
	live = guest_live(&g, &source);
	is_set(g.arch, live.no, "kvm-pv-tlb-flush, kvm-hint-dedicated",
	       "host: not what the source lacks, no hint");
	is_set(g.arch, all_features(g.arch) & ~(live.yes | live.no), "none", "all is known");
	live = guest_live(&g, &ipi);
	is_set(g.arch, live.yes, "kvm-pv-ipi", "a source of which little is known");
	is_set(g.arch, live.no, "kvm-asyncpf, kvm-hint-dedicated", "the rest stays unknown");
	g.seen = (struct offer){feature_bit(g.arch, "kvm-pv-tlb-flush"),
				feature_bit(g.arch, "kvm-pv-ipi")};
	live = guest_live(&g, &source);
	ok(live.yes & feature_bit(g.arch, "kvm-pv-tlb-flush") &&
		   live.no & feature_bit(g.arch, "kvm-pv-ipi"),
	   "what the running QEMU says goes before all");
	guest(&g, "<cpu mode='host-model'/>");
	live = guest_live(&g, &source);
	ok(!((live.yes | live.no) & feature_bit(g.arch, "kvm-pv-ipi")) &&
		   live.yes & feature_bit(g.arch, "kvmclock"),
	   "host-model that is not expanded");
}

struct heard {
	char text[4096];
	size_t n;
};

static void hear(void *data, const char *text)
{
	struct heard *heard = data;

	heard->n += (size_t)snprintf(heard->text + heard->n, sizeof(heard->text) - heard->n, "%s\n",
				     text);
}

static void contradicts(const char *inside, const char *wanted, const char *name)
{
	struct heard all = {0};
	struct guest g;

	guest(&g, inside);
	guest_contradictions(&g, hear, &all);
	ok(wanted ? strstr(all.text, wanted) != NULL : !all.n, name);
	if (wanted ? !strstr(all.text, wanted) : all.n)
		printf("# %s\n", all.text);
}

#define FLUSH "<cpu mode='custom'><feature name='kvm-pv-tlb-flush'/>"

static void test_contradictions(void)
{
	contradicts(FLUSH "</cpu>", NULL, "no contradiction");
	contradicts(FLUSH "</cpu><features><kvm><hint-dedicated state='on'/></kvm></features>",
		    "so is kvm-hint-dedicated", "flush, but dedicated");
	contradicts(FLUSH "<feature name='monitor'/></cpu>", "sees MWAIT", "flush, but MWAIT");
	contradicts(FLUSH "<feature policy='disable' name='kvm-steal-time'/></cpu>",
		    "which it needs, is off", "flush, but no steal time");
	contradicts(FLUSH "</cpu><features><kvm><hidden state='on'/></kvm></features>",
		    "is not told that it runs on KVM", "flush, but hidden");
	contradicts("<cpu mode='custom'><feature policy='disable' name='kvm-pv-ipi'/></cpu>",
		    "only as advice", "off, but only as advice");
	contradicts("<cpu mode='custom'><feature policy='disable' "
		    "name='kvm-pv-ipi'/></cpu><qemu:commandline>"
		    "<qemu:arg value='-global'/><qemu:arg "
		    "value='cpu.kvm-pv-enforce-cpuid=on'/></qemu:commandline>",
		    NULL, "off, and enforced");
}

static void test_qmp(void)
{
	static const char good[] =
		"{\"QMP\":{\"version\":{\"qemu\":{\"major\":10,\"minor\":0,\"micro\":3}}}}\r\n"
		"{\"return\":{},\"id\":0}\n{\"timestamp\":{},\"event\":\"RESUME\"}\n"
		"{\"return\":{\"enabled\":true,\"present\":true},\"id\":1}\n"
		"{\"return\":[{\"name\":\"kvm-pv-tlb-flush\"},{\"name\":\"kvm-pv-ipi\"}],\"id\":2}"
		"\n"
		"{\"return\":{\"model\":{\"props\":{\"kvm-pv-tlb-flush\":true,\"kvm-pv-ipi\":false,"
		"\"x\":18446744073709551615}}},\"id\":3}\n{\"return\":{},\"id\":4}\n";
	struct offer kernel = {all_features(ARCH_X86), 0}, offer;
	struct qemu_answer a;
	char why[TEXT_ROOM], *log;
	struct problem p;
	long long pid;
	bool done;

	ok(qmp_answers(ARCH_X86, good, strlen(good), &a, &p) && !strcmp(a.version, "10.0.3") &&
		   a.kvm,
	   "QMP");
	offer = offer_of_qemu(ARCH_X86, &a, &kernel, why, sizeof(why));
	is_set(ARCH_X86, offer.yes, "kvm-pv-tlb-flush", "QEMU offers what it has and sets");
	kernel = (struct offer){0, all_features(ARCH_X86)};
	offer = offer_of_qemu(ARCH_X86, &a, &kernel, why, sizeof(why));
	is_set(ARCH_X86, offer.yes, "kvm-pv-tlb-flush, kvm-pv-ipi",
	       "what the kernel lacks is not QEMU's fault");
	a.kvm = false;
	offer = offer_of_qemu(ARCH_LOONGARCH, &a, &kernel, why, sizeof(why));
	is_set(ARCH_LOONGARCH, offer.no, "none", "a QEMU without KVM proves nothing on LoongArch");
	ok(!qmp_answers(ARCH_X86, good, 100, &a, &p), "QMP that breaks off");
	ok(!qmp_answers(ARCH_X86, "", 0, &a, &p), "no QMP");
	ok(monitor_bool(J("{\"return\":true}")) == 1 &&
		   monitor_bool(J("{\"return\":false}")) == 0 &&
		   monitor_bool(J("{\"error\":{\"desc\":\"x\"}}")) == -1 &&
		   monitor_bool(J("x")) == -1,
	   "the monitor's answers");
	ok(monitor_cpu_path(J("{\"return\":[{\"qom-path\":\"/machine/a\"}]}"), why, sizeof(why),
			    &p) &&
		   !strcmp(why, "/machine/a"),
	   "the path of a vCPU");
	ok(!monitor_cpu_path(J("{\"return\":[{\"qom-path\":\"a\\\"b\"}]}"), why, sizeof(why), &p),
	   "a path with a quote");
	ok(agent_pid(J("{\"return\":{\"pid\":77}}"), &pid, &p) && pid == 77, "the agent's pid");
	ok(agent_output(J("{\"return\":{\"exited\":false}}"), &done, &log, &p) && !done && !log,
	   "not done yet");
	ok(agent_output(J("{\"return\":{\"exited\":true,\"exitcode\":0,\"out-data\":"
			  "\"aGVsbG8gd29ybGQ=\"}}"),
			&done, &log, &p) &&
		   done && log && !strcmp(log, "hello world"),
	   "base64");
	free(log);
	ok(!agent_output(J("{\"return\":{\"exited\":true,\"exitcode\":1}}"), &done, &log, &p) &&
		   !log,
	   "dmesg failed");
	ok(!agent_output(J("{\"return\":{\"exited\":true,\"exitcode\":0,\"out-data\":\"a!\"}}"),
			 &done, &log, &p),
	   "no base64");
	offer = active_by_log(
		ARCH_X86, "[0] Linux version 6.12\n[1] kvm-guest: KVM setup pv remote TLB flush\n");
	is_set(ARCH_X86, offer.yes, "kvm-pv-tlb-flush", "the guest's log: in use");
	is_set(ARCH_X86, offer.no, "kvmclock, kvm-pv-unhalt, kvm-pv-ipi, kvm-pv-sched-yield",
	       "the guest's log: not in use");
	offer = active_by_log(ARCH_X86, "[99] eth0: link up\n");
	ok(!offer.yes && !offer.no, "a log that has lost its beginning says nothing");
}

static void test_kernel(void)
{
	struct kernel_answer a = {.cpuid_eax = 0x1007efb,
				  .attr_yes = 1u << 11,
				  .attr_no = 1u << 6,
				  .cap_steal_time = -1};

	is_set(ARCH_X86, offer_of_kernel(ARCH_X86, &a).no, "none", "x86: Linux 6.18 has them all");
	a.cpuid_eax &= ~(1u << 9);
	is_set(ARCH_X86, offer_of_kernel(ARCH_X86, &a).no, "kvm-pv-tlb-flush", "x86: bit 9");
	is_set(ARCH_LOONGARCH, offer_of_kernel(ARCH_LOONGARCH, &a).yes, "kvm-pv-tlb-flush",
	       "LoongArch: attribute 11");
	is_set(ARCH_LOONGARCH, offer_of_kernel(ARCH_LOONGARCH, &a).no, "kvm-pv-ipi",
	       "LoongArch: attribute 6");
	ok(!offer_of_kernel(ARCH_ARM64, &a).yes && !offer_of_kernel(ARCH_ARM64, &a).no,
	   "arm64: not known");
	a.cap_steal_time = 1;
	is_set(ARCH_ARM64, offer_of_kernel(ARCH_ARM64, &a).yes, "kvm-steal-time",
	       "arm64: steal time");
}

/* What comes from libvirt has passed no limit of ours before. */
static void test_size(void)
{
	const size_t length = MAX_BYTES + 1;
	char *text = malloc(length);
	struct problem p;
	struct guest g;
	struct host h = {0};

	if (!text)
		abort();
	memset(text, ' ', length);
	ok(!guest_from_xml(text, length, &g, &p) && !strcmp(p.text, "larger than 4 MiB"),
	   "a domain of more than 4 MiB");
	ok(!host_from_capabilities(text, length, &h, &p) && !strcmp(p.text, "larger than 4 MiB"),
	   "capabilities of more than 4 MiB");
	ok(!policy_from_json(text, length, &p) && !strcmp(p.text, "larger than 4 MiB"),
	   "JSON of more than 4 MiB");
	ok(!guest_from_xml(text, length - 1, &g, &p) && strcmp(p.text, "larger than 4 MiB") != 0,
	   "4 MiB are read");
	free(text);
}

int main(void)
{
	test_text();
	test_size();
	test_guest();
	test_live();
	test_contradictions();
	test_qmp();
	test_kernel();
	printf("1..%d\n", count);
	return failed != 0;
}
