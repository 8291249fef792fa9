// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a QEMU, a monitor or a guest agent says. All of it is JSON, one object a line.
 */
#define _GNU_SOURCE
#include "check.h"

#include <stdlib.h>
#include <string.h>

/* QEMU has integers beyond what a json_int_t holds. */
#define QMP_NUMBERS JSON_DECODE_INT_AS_REAL

enum { ASK_CAPABILITIES, ASK_KVM, ASK_PROPERTIES, ASK_EXPANSION, ASK_QUIT };

char *qmp_questions(enum arch arch)
{
	const struct arch_table *t = &arch_tables[arch];
	char *text;

	if (asprintf(&text,
		     "{\"execute\":\"qmp_capabilities\",\"id\":%d}\n"
		     "{\"execute\":\"query-kvm\",\"id\":%d}\n"
		     "{\"execute\":\"device-list-properties\",\"arguments\":{\"typename\":\"%s\"},"
		     "\"id\":%d}\n"
		     "{\"execute\":\"query-cpu-model-expansion\",\"arguments\":{\"type\":\"%s\","
		     "\"model\":"
		     "{\"name\":\"%s\"}},\"id\":%d}\n"
		     "{\"execute\":\"quit\",\"id\":%d}\n",
		     ASK_CAPABILITIES, ASK_KVM, t->qemu_type, ASK_PROPERTIES, t->expansion,
		     t->kvm_model, ASK_EXPANSION, ASK_QUIT) < 0)
		return NULL;
	return text;
}

static void take_version(json_t *greeting, struct qemu_answer *answer)
{
	json_t *v = json_object_get(json_object_get(greeting, "version"), "qemu");

	snprintf(answer->version, sizeof(answer->version), "%.0f.%.0f.%.0f",
		 json_number_value(json_object_get(v, "major")),
		 json_number_value(json_object_get(v, "minor")),
		 json_number_value(json_object_get(v, "micro")));
}

static void take_reply(enum arch arch, json_t *reply, struct qemu_answer *answer, unsigned int *got)
{
	json_t *value = json_object_get(reply, "return"), *props, *item;
	json_t *number = json_object_get(reply, "id");
	double which = json_number_value(number);
	const char *name;
	int id;
	size_t i;

	if (!json_is_number(number) || !value || !(which >= 0 && which <= ASK_QUIT))
		return;
	id = (int)which;
	*got |= 1u << id;
	switch (id) {
	case ASK_KVM:
		answer->kvm = json_is_true(json_object_get(value, "enabled"));
		break;
	case ASK_PROPERTIES:
		json_array_foreach(value, i, item)
		{
			name = json_string_value(json_object_get(item, "name"));
			answer->listed |= name ? feature_bit(arch, name) : 0;
		}
		break;
	case ASK_EXPANSION:
		props = json_object_get(json_object_get(value, "model"), "props");
		json_object_foreach(props, name, item)
		{
			answer->listed |= feature_bit(arch, name);
			if (json_is_true(item))
				answer->on |= feature_bit(arch, name);
		}
		break;
	default:
		break;
	}
}

bool qmp_answers(enum arch arch, const char *text, size_t length, struct qemu_answer *answer,
		 struct problem *p)
{
	const char *line = text, *end = text + length, *stop;
	unsigned int got = 0;

	*answer = (struct qemu_answer){0};
	if (length > MAX_BYTES)
		return wrong(p, "it said more than %zu MiB", MAX_BYTES >> 20);
	for (; line < end; line = stop + 1) {
		json_t *json, *greeting;

		stop = memchr(line, '\n', (size_t)(end - line));
		if (!stop)
			stop = end;
		if (stop == line || (stop == line + 1 && *line == '\r'))
			continue;
		json = load_json(line, (size_t)(stop - line), QMP_NUMBERS, p);
		if (!json)
			return false;
		greeting = json_object_get(json, "QMP");
		if (greeting)
			take_version(greeting, answer);
		take_reply(arch, json, answer, &got);
		json_decref(json);
	}
	if (!answer->version[0])
		return wrong(p, "it did not greet as QMP does");
	if (!(got & 1u << ASK_KVM) || !(got & 1u << ASK_PROPERTIES))
		return wrong(p, "it did not answer what was asked");
	return true;
}

struct offer offer_of_qemu(enum arch arch, const struct qemu_answer *answer,
			   const struct offer *kernel, char *why, size_t room)
{
	uint32_t all = all_features(arch), masked;
	struct offer offer = {.yes = answer->listed};

	snprintf(why, room, "it does not say");
	/* Elsewhere than on x86 it has these properties only while it uses KVM. */
	if (answer->kvm || arch == ARCH_X86)
		offer.no = all & ~offer.yes;
	else
		snprintf(why, room, "it shows these features only where it can use KVM");
	/* The kernel offers it, but the CPU that has all there is has it off: this QEMU will not
	 * set it. */
	masked = arch == ARCH_X86 && answer->kvm && answer->on
			 ? offer.yes & kernel->yes & host_cpu_features(arch) & ~answer->on
			 : 0;
	offer.yes &= ~masked;
	offer.no |= masked;
	return offer;
}

static json_t *return_of(const char *text, size_t length, json_t **root, struct problem *p)
{
	json_t *value;

	*root = load_json(text, length, QMP_NUMBERS, p);
	value = json_object_get(*root, "return");
	if (*root && !value)
		wrong(p, "%.200s",
		      json_string_value(json_object_get(json_object_get(*root, "error"), "desc"))
			      ? json_string_value(
					json_object_get(json_object_get(*root, "error"), "desc"))
			      : "no answer in it");
	return value;
}

bool monitor_cpu_path(const char *text, size_t length, char *path, size_t room, struct problem *p)
{
	json_t *root, *value = return_of(text, length, &root, p);
	const char *found =
		json_string_value(json_object_get(json_array_get(value, 0), "qom-path"));
	bool good = found && is_name(found) && !strpbrk(found, "\"\\") && strlen(found) < room;

	if (good)
		memcpy(path, found, strlen(found) + 1);
	else if (value)
		wrong(p, "no path of a vCPU in it");
	json_decref(root);
	return good;
}

int monitor_bool(const char *text, size_t length)
{
	struct problem p;
	json_t *root, *value = return_of(text, length, &root, &p);
	int answer = json_is_true(value) ? 1 : json_is_false(value) ? 0 : -1;

	json_decref(root);
	return answer;
}

bool agent_pid(const char *text, size_t length, long long *pid, struct problem *p)
{
	json_t *root, *value = return_of(text, length, &root, p);
	json_t *number = json_object_get(value, "pid");
	bool good = json_is_number(number) && json_number_value(number) > 0 &&
		    json_number_value(number) < 1e15;

	if (good)
		*pid = (long long)json_number_value(number);
	else if (value)
		wrong(p, "no pid in it");
	json_decref(root);
	return good;
}

static int base64_digit(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* NULL if it is none. NUL bytes become blanks, so that it is one text. */
static char *base64_text(const char *in)
{
	size_t length = strlen(in), n = 0, i;
	unsigned int bits = 0, held = 0;
	char *out;

	while (length > 0 && in[length - 1] == '=')
		length--;
	out = malloc(length / 4 * 3 + 4);
	for (i = 0; out && i < length; i++) {
		int digit = base64_digit(in[i]);

		if (digit < 0) {
			free(out);
			return NULL;
		}
		bits = (bits << 6 | (unsigned int)digit) & 0xffff;
		held += 6;
		if (held >= 8) {
			held -= 8;
			out[n] = (char)(bits >> held & 0xff);
			if (!out[n])
				out[n] = ' ';
			n++;
		}
	}
	if (out)
		out[n] = '\0';
	return out;
}

bool agent_output(const char *text, size_t length, bool *done, char **log, struct problem *p)
{
	json_t *root, *value = return_of(text, length, &root, p);
	json_t *exited = json_object_get(value, "exited"),
	       *code = json_object_get(value, "exitcode");
	const char *data = json_string_value(json_object_get(value, "out-data"));
	bool good = json_is_boolean(exited);

	*log = NULL;
	*done = good && json_is_true(exited);
	if (value && !good)
		wrong(p, "no state of the program in it");
	if (*done && (!json_is_number(code) || json_number_value(code) != 0)) {
		wrong(p, "dmesg in the guest failed");
		good = false;
	}
	if (good && *done) {
		*log = base64_text(data ? data : "");
		if (!*log)
			good = wrong(p, "its output is not in base64");
	}
	json_decref(root);
	return good;
}

struct offer active_by_log(enum arch arch, const char *log)
{
	/* Linux, arch/x86/kernel/kvm.c and kvmclock.c */
	static const struct {
		const char *feature, *line;
	} lines[] = {
		{"kvm-pv-tlb-flush", "KVM setup pv remote TLB flush"},
		{"kvm-pv-ipi", "setup PV IPIs"},
		{"kvm-pv-sched-yield", "setup PV sched yield"},
		{"kvm-pv-unhalt", "PV spinlocks enabled"},
		{"kvmclock", "kvm-clock: "},
	};
	/* The oldest messages may have been overwritten; this one is among the first. */
	bool whole = strstr(log, "Linux version ");
	struct offer active = {0};
	size_t i;

	for (i = 0; arch == ARCH_X86 && i < sizeof(lines) / sizeof(*lines); i++) {
		if (strstr(log, lines[i].line))
			active.yes |= feature_bit(arch, lines[i].feature);
		else if (whole)
			active.no |= feature_bit(arch, lines[i].feature);
	}
	return active;
}
