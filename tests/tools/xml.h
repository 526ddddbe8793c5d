/* SPDX-License-Identifier: BSD-3-Clause */
/* Is that XML? */
#ifndef TESTS_TOOLS_XML_H
#define TESTS_TOOLS_XML_H

/* As far as our pictures use it: one root, elements that are closed in order,
 * attributes that are quoted and there once, references to the five entities,
 * and no control characters. NULL, or what is wrong. */
const char *xml_check(const char *text);

#endif
