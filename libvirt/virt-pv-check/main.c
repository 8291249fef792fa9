// SPDX-License-Identifier: GPL-2.0-only
/*
 * virt-pv-check: will this guest survive the move?
 */
#include "io.h"
#include "pv.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

const char *pv_progname = "virt-pv-check";

enum {
	O_AGENT = 256,
	O_EMULATOR,
	O_EXPLAIN,
	O_FORMAT,
	O_FROM,
	O_MONITOR,
	O_PLAN,
	O_POLICY,
	O_STATE,
	O_TIMEOUT,
	O_TO
};

static const struct command {
	const char *name;
	int (*run)(const struct options *o, int argc, char **argv);
	const char *options; /* names, each between blanks */
	const char *synopsis;
} commands[] = {
	{"host", cmd_host, " connect emulator policy format ",
	 "[-c URI] [--emulator PATH] [--policy FILE] [--format table|json]"},
	{"domain", cmd_domain, " connect agent monitor format ",
	 "[-c URI] [--agent] [--monitor] [--format table|json] DOMAIN"},
	{"migrate", cmd_migrate, " connect from to policy explain monitor emulator format ",
	 "[-c URI] [--from URI|FILE] --to URI|FILE... [--policy FILE]\n"
	 "                        [--explain] [--monitor] [--emulator PATH] [--format table|json] "
	 "DOMAIN|FILE..."},
	{"fleet", cmd_fleet, " policy plan emulator format ",
	 "[--policy FILE] [--plan] [--emulator PATH] [--format table|json] URI|FILE..."},
	{"hook", cmd_hook, " policy state timeout ",
	 "[--policy FILE] [--state DIR] [--timeout SECONDS] [--] DOMAIN OPERATION SUBOPERATION "
	 "EXTRA"},
};

static const struct option long_options[] = {
	{"agent", no_argument, NULL, O_AGENT},
	{"connect", required_argument, NULL, 'c'},
	{"emulator", required_argument, NULL, O_EMULATOR},
	{"explain", no_argument, NULL, O_EXPLAIN},
	{"format", required_argument, NULL, O_FORMAT},
	{"from", required_argument, NULL, O_FROM},
	{"help", no_argument, NULL, 'h'},
	{"monitor", no_argument, NULL, O_MONITOR},
	{"plan", no_argument, NULL, O_PLAN},
	{"policy", required_argument, NULL, O_POLICY},
	{"state", required_argument, NULL, O_STATE},
	{"timeout", required_argument, NULL, O_TIMEOUT},
	{"to", required_argument, NULL, O_TO},
	{NULL, 0, NULL, 0},
};

static void put_help(void)
{
	size_t i;

	printf("virt-pv-check: which paravirtual KVM features are offered, in use, and safe to "
	       "migrate\n\n");
	for (i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		printf("  virt-pv-check %-7s %s\n", commands[i].name, commands[i].synopsis);
	printf("\nA FILE is a saved host (\"virt-pv-check host --format json\", or what virsh "
	       "domcapabilities prints) or,\n"
	       "in the place of a DOMAIN, its XML; its path has a '/' there.\n\n"
	       "Exit status: 0 allowed, or nothing wrong; 1 refused; 2 usage; 3 unknown, so "
	       "refused; 4 bad input;\n"
	       "5 trouble: the machine, libvirt or the check itself. The highest one of "
	       "several.\n");
}

static void take_option(const struct command *command, int c, int index, struct options *o)
{
	const char *name = c == 'c' ? "connect" : long_options[index].name;
	char wanted[32];

	snprintf(wanted, sizeof(wanted), " %s ", name);
	if (!strstr(command->options, wanted))
		pv_die(EXIT_USAGE, "%s: it has no option --%s", command->name, name);
	switch (c) {
	case 'c':
		o->uri = optarg;
		break;
	case O_AGENT:
		o->agent = true;
		break;
	case O_EMULATOR:
		if (optarg[0] != '/')
			pv_die(EXIT_USAGE, "--emulator: \"%s\" is no absolute path", optarg);
		o->emulator = optarg;
		break;
	case O_EXPLAIN:
		o->explain = true;
		break;
	case O_FORMAT:
		if (strcmp(optarg, "table") != 0 && strcmp(optarg, "json") != 0)
			pv_die(EXIT_USAGE, "--format: \"%s\" is neither table nor json", optarg);
		o->json = !strcmp(optarg, "json");
		break;
	case O_FROM:
		o->from = optarg;
		break;
	case O_MONITOR:
		o->monitor = true;
		break;
	case O_PLAN:
		o->plan = true;
		break;
	case O_POLICY:
		o->policy = optarg;
		break;
	case O_STATE:
		o->state = optarg;
		break;
	case O_TIMEOUT:
		if (!pv_parse_double(optarg, 0.1, 60, &o->timeout_s))
			pv_die(EXIT_USAGE,
			       "--timeout: \"%s\" is not a number of seconds from 0.1 to 60",
			       optarg);
		break;
	default:
		o->to[o->n_to++] = optarg;
	}
}

static int finish(int code)
{
	if (fflush(stdout) || ferror(stdout))
		pv_die(EXIT_TROUBLE, "cannot write to stdout");
	return code;
}

int main(int argc, char **argv)
{
	struct options o = {.state = "/run/virt-pv-check", .timeout_s = 5};
	const struct command *command = NULL;
	int c, index = 0, code;
	size_t i;

	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		put_help();
		return finish(EXIT_ALLOWED);
	}
	for (i = 0; argc > 1 && i < sizeof(commands) / sizeof(*commands); i++) {
		if (!strcmp(argv[1], commands[i].name))
			command = &commands[i];
	}
	if (!command)
		pv_die(EXIT_USAGE, "%s%s; see --help",
		       argc > 1 ? "unknown command " : "what is to be checked?",
		       argc > 1 ? argv[1] : "");
	o.to = calloc((size_t)argc, sizeof(*o.to));
	if (!o.to)
		pv_die(EXIT_TROUBLE, "out of memory");
	optind = 2;
	opterr = 0;
	while ((c = getopt_long(argc, argv, command->run == cmd_hook ? "+hc:" : "hc:", long_options,
				&index)) != -1) {
		if (c == 'h') {
			put_help();
			return finish(EXIT_ALLOWED);
		}
		if (c == '?')
			pv_die(EXIT_USAGE,
			       "%s: %s: unknown option, or its argument is missing; see --help",
			       command->name, argv[optind - 1]);
		take_option(command, c, index, &o);
	}
	code = command->run(&o, argc - optind, argv + optind);
	free(o.to);
	return finish(code);
}
