/* SPDX-License-Identifier: GPL-2.0-only */
/* XML that others wrote: no DTD, so no entities; no network; limits of libxml2 and ours. */
#ifndef XML_H
#define XML_H

#include "check.h"

#include <libxml/tree.h>

/* The document, if its root is <@root> (NULL: any) in no namespace; NULL and a problem. */
xmlDoc *xml_load(const char *text, size_t length, const char *root, struct problem *p);
/* The first child <@name>, or the next sibling of that name; in no namespace. */
const xmlNode *xml_child(const xmlNode *parent, const char *name);
const xmlNode *xml_next(const xmlNode *node, const char *name);
bool xml_in(const xmlNode *node, const char *name, const char *ns);
/* Copies an attribute or the text; false if absent (@out is ""). What does not fit or is no name is
 * a problem. */
bool xml_attr(const xmlNode *node, const char *name, char *out, size_t room);
bool xml_text(const xmlNode *node, char *out, size_t room);

#endif
