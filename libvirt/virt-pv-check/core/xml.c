// SPDX-License-Identifier: GPL-2.0-only
#include "xml.h"

#include <libxml/parser.h>
#include <string.h>

static void on_dtd(void *data, const xmlChar *name, const xmlChar *external, const xmlChar *system)
{
	xmlParserCtxt *ctxt = data;

	(void)name;
	(void)external;
	(void)system;
	*(bool *)ctxt->_private = true;
	xmlStopParser(ctxt);
}

xmlDoc *xml_load(const char *text, size_t length, const char *root, struct problem *p)
{
	const xmlError *error;
	xmlParserCtxt *ctxt;
	const xmlNode *top;
	bool dtd = false;
	xmlDoc *doc;

	if (!size_is_fine(length, p))
		return NULL;
	if (!is_utf8(text, length)) {
		wrong(p, "not UTF-8");
		return NULL;
	}
	ctxt = xmlNewParserCtxt();
	if (!ctxt) {
		wrong(p, "out of memory");
		return NULL;
	}
	ctxt->_private = &dtd;
	ctxt->sax->internalSubset = on_dtd;
	doc = xmlCtxtReadMemory(ctxt, text, (int)length, NULL, "UTF-8",
				XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
	error = xmlCtxtGetLastError(ctxt);
	top = doc ? xmlDocGetRootElement(doc) : NULL;
	if (dtd)
		wrong(p, "not taken: it has a document type declaration");
	else if (!top)
		wrong(p, "not XML: %s", error && error->message ? error->message : "no element");
	else if (root && strcmp((const char *)top->name, root) != 0)
		wrong(p, "root element is <%.64s>, not <%s>", top->name, root);
	else if (top->ns)
		wrong(p, "root element <%.64s> is in the namespace \"%.64s\"", top->name,
		      top->ns->href ? (const char *)top->ns->href : "");
	else {
		xmlFreeParserCtxt(ctxt);
		return doc;
	}
	xmlFreeDoc(doc);
	xmlFreeParserCtxt(ctxt);
	return NULL;
}

bool xml_in(const xmlNode *node, const char *name, const char *ns)
{
	return node->type == XML_ELEMENT_NODE && !strcmp((const char *)node->name, name) &&
	       (ns ? node->ns && node->ns->href && !strcmp((const char *)node->ns->href, ns)
		   : !node->ns);
}

static const xmlNode *from(const xmlNode *node, const char *name)
{
	while (node && !xml_in(node, name, NULL))
		node = node->next;
	return node;
}

const xmlNode *xml_child(const xmlNode *parent, const char *name)
{
	return parent ? from(parent->children, name) : NULL;
}

const xmlNode *xml_next(const xmlNode *node, const char *name)
{
	return from(node->next, name);
}

static bool take(xmlChar *value, char *out, size_t room)
{
	bool there = value;

	out[0] = '\0';
	if (value && strlen((char *)value) < room)
		memcpy(out, value, strlen((char *)value) + 1);
	else if (value)
		put_clean(out, room, "?"); /* too long for anything that is known */
	xmlFree(value);
	return there;
}

bool xml_attr(const xmlNode *node, const char *name, char *out, size_t room)
{
	return take(node ? xmlGetNoNsProp(node, BAD_CAST name) : NULL, out, room);
}

bool xml_text(const xmlNode *node, char *out, size_t room)
{
	return take(node ? xmlNodeGetContent(node) : NULL, out, room);
}
