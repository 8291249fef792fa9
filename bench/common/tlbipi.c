// SPDX-License-Identifier: GPL-2.0-only
#include "tlbipi.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers up to the description; false when there is not one. */
static bool sum_line(const char *text, uint64_t *sum)
{
	bool any = false;
	char *end;

	*sum = 0;
	for (;;) {
		text += strspn(text, " \t");
		if (!isdigit((unsigned char)*text))
			return any;
		*sum += strtoull(text, &end, 10);
		if (!isspace((unsigned char)*end))
			return false;
		any = true;
		text = end;
	}
}

bool pv_tlb_ipis(const char *path, uint64_t *sum)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;
	bool found = false;
	uint64_t value;

	if (!file)
		return false;
	while (!found && getline(&line, &size, file) >= 0) {
		const char *name = line + strspn(line, " \t");

		found = strncmp(name, "TLB:", 4) == 0 && sum_line(name + 4, &value);
	}
	free(line);
	fclose(file);
	if (found)
		*sum = value;
	return found;
}
