// SPDX-License-Identifier: GPL-2.0-only
/*
 * virt-pv-check migrate: may this guest go there? Guests and hosts may be live or files; every
 * guest is judged for every host.
 */
#include "io.h"
#include "pv.h"

#include <stdlib.h>
#include <string.h>

#define MAX_REASONS 128

struct destination {
	const char *where;
	struct host host;
	struct host_rules rules;
	int failed; /* 0, or the code */
	char why[TEXT_ROOM * 2];
};

struct run {
	const struct options *o;
	struct destination *to;
	size_t n_to;
	struct host source;
	bool has_source;
	virConnectPtr conn;
	int code; /* the highest so far */
	size_t judged;
};

static void take_code(struct run *run, int code)
{
	if (code > run->code)
		run->code = code;
}

static const int code_of[] = {[VERDICT_ALLOW] = EXIT_ALLOWED,
			      [VERDICT_REFUSE] = EXIT_REFUSED,
			      [VERDICT_UNKNOWN] = EXIT_UNKNOWN};

static void put_list(const char *title, enum arch arch, uint32_t set)
{
	if (!set)
		return;
	printf("    %s: ", title);
	put_features(stdout, arch, set);
	putchar('\n');
}

static void explain(const struct run *run, const struct guest *g, const struct destination *to,
		    const struct judgement *j, const struct reason *reasons, size_t n)
{
	size_t i;

	for (i = 0; i < n && i < MAX_REASONS; i++) {
		printf("  %s%s\n", reasons[i].unknown && !j->whole[0] ? "? " : "- ",
		       reasons[i].text);
		if (reasons[i].remedy[0])
			printf("    remedy: %s\n", reasons[i].remedy);
	}
	if (j->whole[0])
		return;
	put_list("may be in use in the guest", g->arch, j->live.yes);
	put_list("unknown whether in use", g->arch,
		 all_features(g->arch) & ~(j->live.yes | j->live.no));
	put_list("decided by the policy's level", g->arch, j->by_level);
	put_list("offered there beyond that", g->arch, j->extra);
	put_list("not judged, by the policy", g->arch, to->rules.ignore & ~to->rules.excepted);
	put_list("not judged, by an exception", g->arch, to->rules.excepted);
	put_list("exceptions that are over", g->arch, to->rules.expired);
	if (!run->has_source)
		printf("    the host it runs on is not known (--from)\n");
}

static void put_json(const struct run *run, const char *guest, const char *to, const char *verdict,
		     json_t *reasons, json_t *extra)
{
	json_t *json = json_pack("{s:s, s:s, s:s, s:o}", "domain", guest, "to", to, "verdict",
				 verdict, "reasons", reasons);

	if (extra) {
		json_object_update(json, extra);
		json_decref(extra);
	}
	fputs(run->judged ? ",\n" : "[\n", stdout);
	json_dumpf(json, stdout, JSON_COMPACT);
	json_decref(json);
}

static void judge_one(struct run *run, const struct guest *g, struct destination *to)
{
	static struct reason reasons[MAX_REASONS];
	const char *verdict = verdict_names[VERDICT_UNKNOWN];
	size_t n = 1, i, room = run->o->explain || run->o->json ? MAX_REASONS : 1;
	struct judgement j = {0};
	json_t *list;

	if (to->failed) {
		reasons[0] = (struct reason){.unknown = true};
		snprintf(reasons[0].text, sizeof(reasons[0].text), "%s", to->why);
		take_code(run, to->failed);
	} else {
		j = judge(g, run->has_source ? &run->source : NULL, &to->host, &to->rules, false);
		n = judgement_reasons(&j, g, &to->host, reasons, room);
		verdict = verdict_names[j.verdict];
		take_code(run, code_of[j.verdict]);
	}
	if (run->o->json) {
		list = json_array();
		for (i = 0; i < n && i < MAX_REASONS; i++)
			json_array_append_new(
				list, json_pack("{s:s, s:b, s:s, s:s}", "feature",
						reasons[i].feature ? reasons[i].feature->name : "",
						"unknown", reasons[i].unknown, "text",
						reasons[i].text, "remedy", reasons[i].remedy));
		put_json(run, g->name, to->failed ? to->where : to->host.name, verdict, list,
			 to->failed ? NULL
				    : json_pack("{s:o, s:o, s:o}", "extra",
						features_to_json(g->arch, j.extra), "exceptions",
						features_to_json(g->arch, to->rules.excepted),
						"expired",
						features_to_json(g->arch, to->rules.expired)));
	} else {
		printf("%-8s%s to %s", verdict, g->name, to->failed ? to->where : to->host.name);
		if (n && !run->o->explain)
			printf(": %s", reasons[0].text);
		if (n > 1 && !run->o->explain)
			printf(" (and %zu more: --explain)", n - 1);
		putchar('\n');
		if (run->o->explain && to->failed)
			printf("  ? %s\n", to->why);
		else if (run->o->explain)
			explain(run, g, to, &j, reasons, n);
	}
	run->judged++;
}

/* A domain of libvirt, or a file with its XML: a name of a domain has no '/'. */
static bool load_guest(struct run *run, const char *what, struct guest *g, struct problem *p,
		       int *code)
{
	struct virt_guest found;
	size_t length;
	char *text;
	bool good;

	if (strchr(what, '/') || !strcmp(what, "-")) {
		*code = EXIT_BAD_INPUT;
		text = read_input(what, &length, p);
		if (!text)
			return false;
		good = guest_from_xml(text, length, g, p);
		free(text);
		if (!good) {
			struct problem inner = *p;

			wrong(p, "%.200s: %.300s", what, inner.text);
		}
		return good;
	}
	*code = EXIT_TROUBLE;
	if (!run->conn) {
		run->conn = virt_open(run->o->uri, p);
		if (!run->conn)
			return false;
	}
	if (run->o->monitor)
		pv_warn("--monitor: libvirt marks %s as tainted (custom-monitor) from now on",
			what);
	if (!virt_domain(run->conn, what, run->o->monitor, false, &found, p))
		return false;
	if (run->o->monitor && found.no_monitor[0])
		pv_warn("%s: %s", what, found.no_monitor);
	*g = found.guest;
	/* it runs where we asked for it */
	if (!run->has_source)
		run->has_source =
			virt_host(run->conn, g->emulator[0] ? g->emulator : NULL, &run->source, p);
	return true;
}

static void load_destinations(struct run *run, const struct policy *policy)
{
	struct problem p;
	size_t i;

	run->n_to = run->o->n_to;
	run->to = calloc(run->n_to, sizeof(*run->to));
	if (!run->to)
		pv_die(EXIT_TROUBLE, "out of memory");
	for (i = 0; i < run->n_to; i++) {
		struct destination *to = &run->to[i];

		to->where = run->o->to[i];
		to->failed = any_host(to->where, run->o->emulator, &to->host, &p);
		if (to->failed) {
			pv_warn("%s", p.text);
			snprintf(to->why, sizeof(to->why), "nothing is known about it: %.400s",
				 p.text);
		}
		to->rules = policy_for(policy, to->host.name, to->host.arch, today());
	}
}

int cmd_migrate(const struct options *o, int argc, char **argv)
{
	struct run run = {.o = o};
	struct policy *policy = NULL;
	struct problem p;
	size_t i;
	int n, code;

	if (argc < 1 || !o->n_to)
		pv_die(EXIT_USAGE, "migrate: needs a domain and --to HOST");
	if (o->policy) {
		policy = load_policy(o->policy, &p);
		if (!policy)
			pv_die(EXIT_BAD_INPUT, "%s", p.text);
	}
	if (o->from) {
		code = any_host(o->from, o->emulator, &run.source, &p);
		if (code)
			pv_die(code, "%s", p.text);
		run.has_source = true;
	}
	load_destinations(&run, policy);
	for (n = 0; n < argc; n++) {
		struct guest guest;

		if (!load_guest(&run, argv[n], &guest, &p, &code)) {
			pv_warn("%s", p.text);
			take_code(&run, code);
			continue;
		}
		for (i = 0; i < run.n_to; i++)
			judge_one(&run, &guest, &run.to[i]);
	}
	if (o->json)
		puts(run.judged ? "\n]" : "[]");
	if (run.conn)
		virConnectClose(run.conn);
	policy_free(policy);
	free(run.to);
	return run.code;
}
