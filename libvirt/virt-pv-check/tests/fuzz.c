// SPDX-License-Identifier: GPL-2.0-only
/* One parser of the core for libFuzzer; TARGET_domain, TARGET_host, ... says which. */
#include "core/check.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hear(void *data, const char *text)
{
	*(size_t *)data += strlen(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct problem p = {""};

	(void)hear;
	(void)text;
	(void)size;
#if defined(TARGET_domain)
	static struct reason reasons[128];
	struct host_rules rules = {.require = 1, .forbid = 2};
	struct judgement j;
	struct guest guest;
	struct host host;
	size_t heard = 0;

	if (guest_from_xml(text, size, &guest, &p)) {
		if (!is_name(guest.name))
			abort();
		host_init(&host, "h", guest.arch < ARCHS ? guest.arch : ARCH_X86);
		host.offer[PART_KERNEL].no = host.offer[PART_QEMU].yes = 0x55;
		guest_contradictions(&guest, hear, &heard);
		j = judge(&guest, &host, &host, &rules, size & 1);
		if ((judgement_reasons(&j, &guest, &host, reasons, 128) == 0) !=
		    (j.verdict == VERDICT_ALLOW))
			abort();
	}
#elif defined(TARGET_host)
	struct host host, again;

	if (host_from_json(text, size, &host, &p)) {
		json_t *json = host_to_json(&host);
		char *saved = json_dumps(json, 0);

		/* what is written can be read, and is the same */
		if (!host_from_json(saved, strlen(saved), &again, &p) ||
		    memcmp(host.offer, again.offer, sizeof(host.offer)) != 0)
			abort();
		free(saved);
		json_decref(json);
	}
#elif defined(TARGET_capabilities)
	struct host host = {.name = "h"};

	if (host_from_capabilities(text, size, &host, &p) && strcmp(host.name, "h") != 0)
		abort();
#elif defined(TARGET_policy)
	struct policy *policy = policy_from_json(text, size, &p);
	unsigned int arch;

	for (arch = 0; policy && arch < ARCHS; arch++)
		policy_for(policy, "h", arch, 20000);
	policy_free(policy);
#elif defined(TARGET_qmp)
	struct offer kernel = {1, 2};
	struct qemu_answer answer;
	char why[TEXT_ROOM];
	unsigned int arch;

	for (arch = 0; arch < ARCHS; arch++) {
		if (qmp_answers(arch, text, size, &answer, &p))
			offer_of_qemu(arch, &answer, &kernel, why, sizeof(why));
	}
#else
	char path[NAME_ROOM], *log;
	long long pid;
	bool done;

	monitor_bool(text, size);
	monitor_cpu_path(text, size, path, sizeof(path), &p);
	agent_pid(text, size, &pid, &p);
	if (agent_output(text, size, &done, &log, &p) && done)
		active_by_log(ARCH_X86, log);
	free(log);
#endif
	if (strpbrk(p.text, "\n\033"))
		abort();
	return 0;
}
