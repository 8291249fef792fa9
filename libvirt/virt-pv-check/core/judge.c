// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verdict: everything that may be in use in the guest must be offered where it goes.
 */
#include "check.h"

#include <string.h>

const char *const verdict_names[] = {"allow", "refuse", "unknown"};

/* The facts about QEMU are about another binary than the one that the guest names. */
static bool other_emulator(const struct guest *guest, const struct host *to)
{
	return guest->emulator[0] && to->emulator[0] && strcmp(guest->emulator, to->emulator) != 0;
}

static struct offer live_at(const struct guest *guest, const struct host *source,
			    const struct host_rules *rules, uint32_t *by_level)
{
	struct offer live = guest_live(guest, source);
	uint32_t open = all_features(guest->arch) & ~(live.yes | live.no | guest->unclear);

	*by_level = 0;
	if (rules->has_level) {
		live.yes |= open & rules->level;
		live.no |= open & ~rules->level;
		*by_level = open;
	}
	return live;
}

static void judge_features(struct judgement *j, const struct guest *guest, const struct host *to,
			   const struct host_rules *rules)
{
	uint32_t judged = all_features(guest->arch) & ~rules->ignore, open, refused = 0,
		 unknown = 0;
	const struct offer *k = &to->offer[PART_KERNEL], *l = &to->offer[PART_LIBVIRT];
	struct offer q = to->offer[PART_QEMU], all;
	uint32_t in_use, asked = guest->kvm ? guest->asked : 0;
	unsigned int part;

	if (other_emulator(guest, to))
		q = (struct offer){0};
	all = (struct offer){.yes = k->yes & q.yes, .no = k->no | q.no};
	in_use = j->live.yes;
	open = judged & ~(j->live.yes | j->live.no);

	j->lacks[PART_KERNEL] = in_use & k->no;
	j->lacks[PART_QEMU] = (in_use | asked) & q.no;
	j->lacks[PART_LIBVIRT] = guest->named & l->no;
	j->unknown[PART_KERNEL] = (in_use & ~(k->yes | k->no)) | (open & ~k->yes);
	j->unknown[PART_QEMU] =
		((in_use | asked) & ~(q.yes | q.no)) | (open & ~q.yes & ~j->lacks[PART_QEMU]);
	j->unknown[PART_LIBVIRT] = guest->named & ~(l->yes | l->no);
	j->unsure = open;
	j->forbidden = rules->forbid & j->live.yes;
	j->forbidden_unsure = rules->forbid & open;
	j->required = rules->require & all.no;
	j->required_unsure = rules->require & ~(all.yes | all.no);
	j->extra = judged & j->live.no & all.yes;
	for (part = 0; part < PARTS; part++) {
		j->lacks[part] &= judged;
		j->unknown[part] &= judged;
		refused |= j->lacks[part];
		unknown |= j->unknown[part];
	}
	j->forbidden &= judged;
	j->forbidden_unsure &= judged;
	j->required &= judged;
	j->required_unsure &= judged;
	refused |= j->forbidden | j->required;
	unknown |= j->forbidden_unsure | j->required_unsure;
	j->verdict = refused ? VERDICT_REFUSE : unknown ? VERDICT_UNKNOWN : VERDICT_ALLOW;
}

struct judgement judge(const struct guest *guest, const struct host *source, const struct host *to,
		       const struct host_rules *rules, bool definite)
{
	struct judgement j = {.verdict = VERDICT_UNKNOWN};

	if (guest->arch == ARCHS) {
		snprintf(j.whole, sizeof(j.whole),
			 "architecture %.32s is not known to this program", guest->arch_name);
		return j;
	}
	if (guest->arch != to->arch && !guest->kvm) { /* emulated there, as it is here */
		j.verdict = VERDICT_ALLOW;
		j.live.no = all_features(guest->arch);
		return j;
	}
	if (guest->arch != to->arch) {
		j.verdict = VERDICT_REFUSE;
		snprintf(j.whole, sizeof(j.whole), "the guest is %s, the host is %s",
			 arch_tables[guest->arch].name,
			 to->arch < ARCHS ? arch_tables[to->arch].name : "another one");
		return j;
	}
	j.live = live_at(guest, source, rules, &j.by_level);
	if (definite) /* as if it were not used: the next check knows more */
		j.live.no |= all_features(guest->arch) & ~(j.live.yes | guest->unclear);
	judge_features(&j, guest, to, rules);
	return j;
}

struct list {
	const struct guest *guest;
	const struct host *to;
	const struct judgement *j;
	struct reason *reasons;
	size_t n, room;
};

static void add_lacking(struct reason *r, const struct list *list, unsigned int part,
			bool named_only)
{
	const char *name = r->feature->name, *host = list->to->name;
	const char *version =
		list->to->about[part][0] ? list->to->about[part] : "version not known";

	switch (part) {
	case PART_KERNEL:
		snprintf(r->text, sizeof(r->text),
			 "%s: the kernel of %s (%.64s) does not offer it (%s)", name, host, version,
			 r->feature->bit);
		snprintf(
			r->remedy, sizeof(r->remedy),
			"boot a kernel there that offers it, or restart the guest with %s disabled",
			name);
		break;
	case PART_QEMU:
		snprintf(r->text, sizeof(r->text), "%s: QEMU of %s (%.64s) %s", name, host, version,
			 named_only ? "does not have this property, which the guest sets"
				    : "does not offer it");
		snprintf(r->remedy, sizeof(r->remedy),
			 "upgrade QEMU there, or restart the guest %s %s",
			 named_only ? "without naming" : "without", name);
		break;
	default:
		snprintf(r->text, sizeof(r->text),
			 "%s: libvirt of %s (%.64s) does not know this name, which is in the "
			 "guest's CPU XML",
			 name, host, version);
		snprintf(r->remedy, sizeof(r->remedy),
			 "upgrade libvirt there, or restart the guest without naming %s", name);
	}
}

static void add_unknown(struct reason *r, const struct list *list, unsigned int part, uint32_t bit)
{
	const char *name = r->feature->name, *host = list->to->name;
	const struct offer *offer = &list->to->offer[part];
	const char *what = part == PART_KERNEL ? "the kernel"
			   : part == PART_QEMU ? "QEMU"
					       : "libvirt";

	if (part == PART_QEMU && other_emulator(list->guest, list->to)) {
		snprintf(r->text, sizeof(r->text),
			 "%s: unknown whether %.100s of %s offers it: %.100s was asked", name,
			 list->guest->emulator, host, list->to->emulator);
		snprintf(r->remedy, sizeof(r->remedy),
			 "save that host's facts with --emulator %.100s", list->guest->emulator);
		return;
	}
	if ((list->guest->unclear & bit) && (list->j->unsure & bit)) {
		snprintf(r->text, sizeof(r->text),
			 "%s: unknown whether the guest uses it: its definition says both, or sets "
			 "it in a way that "
			 "is not understood",
			 name);
		snprintf(r->remedy, sizeof(r->remedy), "say it once, in the guest's CPU XML");
	} else if (list->j->unsure & bit && offer->no & bit) {
		snprintf(r->text, sizeof(r->text),
			 "%s: unknown whether the guest uses it (CPU mode %s), and %s of %s does "
			 "not offer it",
			 name, mode_names[list->guest->mode], what, host);
		snprintf(r->remedy, sizeof(r->remedy),
			 "put a level into the policy, or say where it runs (migrate --from)");
	} else {
		snprintf(r->text, sizeof(r->text), "%s: unknown whether %s of %s %s: %s", name,
			 what, host, part == PART_LIBVIRT ? "knows this name" : "offers it",
			 list->to->why[part]);
		snprintf(r->remedy, sizeof(r->remedy),
			 "save that host's facts there: virt-pv-check host --format json");
	}
}

static void add_rule(struct reason *r, const struct list *list, bool forbidden)
{
	const char *name = r->feature->name, *host = list->to->name;

	if (forbidden) {
		snprintf(r->text, sizeof(r->text),
			 "%s: the policy forbids it on %s, and the guest %s it", name, host,
			 r->unknown ? "may use" : "uses");
		snprintf(r->remedy, sizeof(r->remedy), "restart the guest with %s disabled", name);
	} else {
		snprintf(r->text, sizeof(r->text), "%s: the policy requires it of %s, which %s it",
			 name, host, r->unknown ? "may not offer" : "does not offer");
		snprintf(r->remedy, sizeof(r->remedy),
			 "upgrade that host, or put an exception into the policy");
	}
}

enum kind { KIND_PART, KIND_FORBIDDEN, KIND_REQUIRED };

static void add(struct list *list, uint32_t set, bool unknown, enum kind kind, unsigned int part)
{
	const struct arch_table *t = &arch_tables[list->to->arch];
	unsigned int i;

	for (i = 0; i < t->n; i++) {
		struct reason *r = &list->reasons[list->n];
		uint32_t bit = UINT32_C(1) << i;

		if (!(set & bit))
			continue;
		if (list->n++ >= list->room)
			continue;
		*r = (struct reason){.feature = &t->features[i], .unknown = unknown};
		if (kind != KIND_PART)
			add_rule(r, list, kind == KIND_FORBIDDEN);
		else if (unknown)
			add_unknown(r, list, part, bit);
		else
			add_lacking(r, list, part, !(list->j->live.yes & bit));
	}
}

size_t judgement_reasons(const struct judgement *j, const struct guest *guest,
			 const struct host *to, struct reason *reasons, size_t room)
{
	struct list list = {.guest = guest, .to = to, .j = j, .reasons = reasons, .room = room};
	unsigned int part;

	if (j->whole[0]) {
		if (room > 0) {
			reasons[0] = (struct reason){.unknown = j->verdict == VERDICT_UNKNOWN};
			snprintf(reasons[0].text, sizeof(reasons[0].text), "%s", j->whole);
		}
		return 1;
	}
	for (part = 0; part < PARTS; part++)
		add(&list, j->lacks[part], false, KIND_PART, part);
	add(&list, j->forbidden, false, KIND_FORBIDDEN, 0);
	add(&list, j->required, false, KIND_REQUIRED, 0);
	for (part = 0; part < PARTS; part++) /* first what is certainly in use */
		add(&list, j->unknown[part] & ~j->unsure, true, KIND_PART, part);
	for (part = 0; part < PARTS; part++)
		add(&list, j->unknown[part] & j->unsure, true, KIND_PART, part);
	add(&list, j->forbidden_unsure, true, KIND_FORBIDDEN, 0);
	add(&list, j->required_unsure, true, KIND_REQUIRED, 0);
	return list.n;
}
