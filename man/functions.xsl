<?xml version="1.0"?>
<!-- SPDX-License-Identifier: BSD-3-Clause -->
<!-- One manual page in mdoc(7) of each public function: xsltproc functions.xsl
     index.xml, of Doxygen, writes NAME.3 to the folder. What a page should say
     and its docstring does not is written to stderr. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
    xmlns:exsl="http://exslt.org/common" extension-element-prefixes="exsl">
<xsl:output method="text"/>
<xsl:strip-space elements="*"/>
<xsl:preserve-space elements="para parametername"/>
<xsl:param name="date"/>
<xsl:param name="version"/>

<xsl:key name="function" match="member[@kind = 'function']" use="@refid"/>
<xsl:variable name="index" select="/"/>
<xsl:variable name="lower" select="'abcdefghijklmnopqrstuvwxyz'"/>
<xsl:variable name="upper" select="'ABCDEFGHIJKLMNOPQRSTUVWXYZ'"/>
<xsl:variable name="nl" select="'&#10;'"/>

<xsl:template match="/">
  <xsl:for-each select="doxygenindex/compound[@kind = 'file']">
    <xsl:for-each select="document(concat(@refid, '.xml'), /)//memberdef
        [@kind = 'function']">
      <exsl:document href="{name}.3" method="text">
        <xsl:apply-templates select="." mode="page"/>
      </exsl:document>
    </xsl:for-each>
  </xsl:for-each>
</xsl:template>

<xsl:template match="memberdef" mode="page">
  <xsl:variable name="docs" select="detaileddescription"/>
  <xsl:value-of select="concat(
      '.\&quot; Made of the docstring in ', location/@file, '.', $nl,
      '.Dd ', $date, $nl,
      '.Dt ', translate(name, $lower, $upper), ' 3', $nl,
      '.Os Amalgam ', $version, $nl,
      '.Sh NAME', $nl, '.Nm ', name, $nl, '.Nd ')"/>
  <xsl:call-template name="short"/>
  <xsl:value-of select="concat($nl, '.Sh SYNOPSIS', $nl, '.In ')"/>
  <xsl:call-template name="header"/>
  <xsl:value-of select="concat($nl, '.Ft &quot;', type, '&quot;', $nl, '.Fo ',
      name, $nl)"/>
  <xsl:for-each select="param[type != 'void' or declname]">
    <xsl:text>.Fa "</xsl:text>
    <xsl:call-template name="parameter"/>
    <xsl:text>"&#10;</xsl:text>
  </xsl:for-each>
  <xsl:if test="not(param[type != 'void' or declname])">.Fa void&#10;</xsl:if>
  <xsl:text>.Fc&#10;.Sh DESCRIPTION&#10;</xsl:text>
  <xsl:apply-templates select="briefdescription/para"/>
  <xsl:apply-templates select="$docs/para"/>
  <xsl:apply-templates select="$docs//parameterlist[@kind = 'param']"/>
  <xsl:apply-templates select="." mode="result"/>
  <xsl:call-template name="section">
    <xsl:with-param name="tag" select="'Owns'"/>
    <xsl:with-param name="head" select="'OWNERSHIP'"/>
  </xsl:call-template>
  <xsl:call-template name="section">
    <xsl:with-param name="tag" select="'Threads'"/>
    <xsl:with-param name="head" select="'THREADS'"/>
  </xsl:call-template>
  <xsl:call-template name="section">
    <xsl:with-param name="tag" select="'Undefined'"/>
    <xsl:with-param name="head" select="'UNDEFINED BEHAVIOUR'"/>
  </xsl:call-template>
  <xsl:call-template name="section">
    <xsl:with-param name="tag" select="'Source'"/>
    <xsl:with-param name="head" select="'CONFORMING TO'"/>
  </xsl:call-template>
  <xsl:apply-templates select="." mode="see"/>
  <xsl:apply-templates select="." mode="check"/>
</xsl:template>

<!-- The brief sentence without a capital and a full stop. -->
<xsl:template name="short">
  <xsl:variable name="text" select="normalize-space(briefdescription)"/>
  <xsl:variable name="first" select="substring($text, 1, 1)"/>
  <xsl:choose>
    <xsl:when test="contains($lower, substring(concat($text, '.'), 2, 1))
        or substring($text, 2, 1) = ' '">
      <xsl:value-of select="translate($first, $upper, $lower)"/>
    </xsl:when>
    <xsl:otherwise><xsl:value-of select="$first"/></xsl:otherwise>
  </xsl:choose>
  <xsl:value-of select="substring($text, 2, string-length($text) - 2)"/>
</xsl:template>

<!-- What a program includes: one of the headers that bring others along, or the
     header itself. -->
<xsl:template name="header">
  <xsl:variable name="file" select="ancestor::compounddef"/>
  <xsl:variable name="by" select="concat(' ', $file/includedby[
      . = 'mercury.h' or . = 'mercury_bulk.h' or . = 'mercury_proc.h' or
      . = 'margo.h' or . = 'abt.h' or . = 'amalgam.h'][
      substring(., 1, 2) = substring($file/compoundname, 1, 2)][1])"/>
  <xsl:value-of select="concat(substring($file/compoundname,
      1 div ($by = ' ')), substring($by, 2))"/>
</xsl:template>

<!-- A parameter; the name of a function pointer stands within its type. -->
<xsl:template name="parameter">
  <xsl:choose>
    <xsl:when test="contains(type, '(*)')">
      <xsl:value-of select="concat(substring-before(type, '(*)'), '(*',
          declname, ')', substring-after(type, '(*)'))"/>
    </xsl:when>
    <xsl:when test="substring(type, string-length(type)) = '*' or
        not(declname)">
      <xsl:value-of select="concat(type, declname, array)"/>
    </xsl:when>
    <xsl:otherwise>
      <xsl:value-of select="concat(type, ' ', declname, array)"/>
    </xsl:otherwise>
  </xsl:choose>
</xsl:template>

<xsl:template match="parameterlist[@kind = 'param']">
  <xsl:variable name="names" select="ancestor::memberdef/param/declname"/>
  <xsl:text>.Pp&#10;.Bl -tag -width Ds -compact&#10;</xsl:text>
  <xsl:for-each select="parameteritem[parameternamelist/parametername = $names]">
    <xsl:text>.It </xsl:text>
    <xsl:for-each select="parameternamelist/parametername[. = $names]">
      <xsl:value-of select="concat('Fa ', ., ' ')"/>
    </xsl:for-each>
    <xsl:value-of select="concat('Pq ', translate(
        parameternamelist/parametername/@direction, ',', '/'), $nl)"/>
    <xsl:apply-templates select="parameterdescription/para"/>
  </xsl:for-each>
  <xsl:text>.El&#10;</xsl:text>
</xsl:template>

<!-- What the function returns, in the order of the docstring. -->
<xsl:template match="memberdef" mode="result">
  <xsl:variable name="docs" select="detaileddescription"/>
  <xsl:variable name="codes" select="$docs//parameterlist[@kind = 'retval']"/>
  <xsl:text>.Sh RETURN VALUES&#10;</xsl:text>
  <xsl:choose>
    <xsl:when test="$docs//simplesect[@kind = 'return']">
      <xsl:apply-templates select="$docs//simplesect[@kind = 'return']/para"
          mode="sentence"/>
    </xsl:when>
    <xsl:when test="type = 'void'">None.&#10;</xsl:when>
    <xsl:when test="$codes//parametername = 'HG_UTIL_FAIL'">
      <xsl:text>.Dv HG_UTIL_SUCCESS&#10;or an error.&#10;</xsl:text>
    </xsl:when>
    <xsl:when test="type = 'int' and
        (starts-with(name, 'ABT_') or starts-with($codes[1]//parametername, 'ABT_'))">
      <xsl:text>.Dv ABT_SUCCESS&#10;or an error.&#10;</xsl:text>
    </xsl:when>
    <xsl:when test="type = 'hg_return_t'">
      <xsl:text>.Dv HG_SUCCESS&#10;or an error.&#10;</xsl:text>
    </xsl:when>
    <xsl:when test="type = 'na_return_t'">
      <xsl:text>.Dv NA_SUCCESS&#10;or an error.&#10;</xsl:text>
    </xsl:when>
    <xsl:when test="$codes//parametername = '-1'">
      <xsl:text>What the description tells, or 0; -1 is an error.&#10;</xsl:text>
    </xsl:when>
    <xsl:otherwise>
      <xsl:text>What the description tells, or what an error gives.&#10;</xsl:text>
    </xsl:otherwise>
  </xsl:choose>
  <xsl:text>.Sh ERRORS&#10;</xsl:text>
  <xsl:for-each select="$docs//parameterlist[@kind = 'retval'] |
      $docs//simplesect[title = 'Errors']/para">
    <xsl:if test="self::para and position() &gt; 1">.Pp&#10;</xsl:if>
    <xsl:apply-templates select="." mode="sentence"/>
  </xsl:for-each>
  <xsl:if test="not($codes or $docs//simplesect[title = 'Errors'])">
    <xsl:message><xsl:value-of select="name"/>: no Errors</xsl:message>
  </xsl:if>
</xsl:template>

<xsl:template match="parameterlist[@kind = 'retval']" mode="sentence">
  <xsl:text>.Bl -tag -width Ds&#10;</xsl:text>
  <xsl:for-each select="parameteritem">
    <xsl:value-of select="concat('.It Bq Er ',
        normalize-space(parameternamelist), $nl)"/>
    <xsl:apply-templates select="parameterdescription/para"/>
  </xsl:for-each>
  <xsl:text>.El&#10;</xsl:text>
</xsl:template>

<xsl:template name="section">
  <xsl:param name="tag"/>
  <xsl:param name="head"/>
  <xsl:variable name="text"
      select="detaileddescription//simplesect[title = $tag]/para"/>
  <xsl:value-of select="concat('.Sh ', $head, $nl)"/>
  <xsl:apply-templates select="$text" mode="sentence"/>
  <xsl:if test="not($text)">
    <xsl:message>
      <xsl:value-of select="concat(name, ': no ', $tag)"/>
    </xsl:message>
  </xsl:if>
</xsl:template>

<!-- Every page that the text names. -->
<xsl:template match="memberdef" mode="see">
  <xsl:variable name="self" select="@id"/>
  <xsl:variable name="refs" select="detaileddescription//ref[@refid != $self] |
      briefdescription//ref[@refid != $self]"/>
  <xsl:text>.Sh SEE ALSO&#10;</xsl:text>
  <xsl:for-each select="$refs">
    <xsl:sort select="translate(., $upper, $lower)"/>
    <xsl:variable name="id" select="@refid"/>
    <xsl:if test="generate-id() = generate-id($refs[@refid = $id][1])">
      <xsl:for-each select="$index">
        <xsl:for-each select="key('function', $id)">
          <xsl:value-of select="concat('.Xr ', name, ' 3 ,', $nl)"/>
        </xsl:for-each>
      </xsl:for-each>
    </xsl:if>
  </xsl:for-each>
  <xsl:text>.Xr amalgam 7&#10;</xsl:text>
</xsl:template>

<!-- Parameters without a description, and descriptions of no parameter. Functions
     that stand together may share a docstring with the parameters of all. -->
<xsl:template match="memberdef" mode="check">
  <xsl:variable name="name" select="name"/>
  <xsl:variable name="docs" select="detaileddescription//parameterlist
      [@kind = 'param']//parametername"/>
  <xsl:variable name="all" select="../memberdef[string(briefdescription) =
      string(current()/briefdescription)]/param/declname"/>
  <xsl:for-each select="param/declname[not(. = $docs)]">
    <xsl:message>
      <xsl:value-of select="concat($name, ': no @param ', .)"/>
    </xsl:message>
  </xsl:for-each>
  <xsl:for-each select="$docs[not(. = $all or . = '...')]">
    <xsl:message>
      <xsl:value-of select="concat($name, ': no parameter ', .)"/>
    </xsl:message>
  </xsl:for-each>
</xsl:template>

<!-- Running text: one line each paragraph. -->
<xsl:template match="para">
  <xsl:variable name="text"><xsl:call-template name="text"/></xsl:variable>
  <xsl:if test="$text != ''">
    <xsl:if test="parent::detaileddescription">.Pp&#10;</xsl:if>
    <xsl:value-of select="concat('\&amp;', $text, $nl)"/>
  </xsl:if>
</xsl:template>

<!-- Running text as a sentence: with a capital and a full stop. -->
<xsl:template match="para" mode="sentence">
  <xsl:variable name="text"><xsl:call-template name="text"/></xsl:variable>
  <xsl:variable name="word" select="substring-before(concat($text, ' '), ' ')"/>
  <xsl:choose>
    <xsl:when test="$text = 'ours.'">This is Amalgam's own.</xsl:when>
    <xsl:when test="translate($word, concat($lower, ';.:,'), '') = '' and
        not($word = ancestor::memberdef/param/declname)">
      <xsl:value-of select="concat(translate(substring($text, 1, 1), $lower,
          $upper), substring($text, 2))"/>
    </xsl:when>
    <xsl:otherwise><xsl:value-of select="concat('\&amp;', $text)"/></xsl:otherwise>
  </xsl:choose>
  <xsl:if test="translate(substring($text, string-length($text)), '.', '') != ''">
    <xsl:text>.</xsl:text>
  </xsl:if>
  <xsl:value-of select="$nl"/>
</xsl:template>

<!-- Each sentence begins a line. -->
<xsl:template name="text">
  <xsl:variable name="text">
    <xsl:apply-templates select="node()[not(self::parameterlist or
        self::simplesect)]" mode="text"/>
  </xsl:variable>
  <xsl:call-template name="lines">
    <xsl:with-param name="text" select="normalize-space($text)"/>
  </xsl:call-template>
</xsl:template>

<xsl:template name="lines">
  <xsl:param name="text"/>
  <xsl:choose>
    <xsl:when test="contains($text, '. ')">
      <xsl:value-of select="concat(substring-before($text, '. '), '.', $nl)"/>
      <xsl:call-template name="lines">
        <xsl:with-param name="text" select="substring-after($text, '. ')"/>
      </xsl:call-template>
    </xsl:when>
    <xsl:otherwise><xsl:value-of select="$text"/></xsl:otherwise>
  </xsl:choose>
</xsl:template>

<xsl:template match="text()" mode="text"><xsl:value-of select="."/></xsl:template>

<xsl:template match="ndash" mode="text">--</xsl:template>

<xsl:template match="emphasis" mode="text">
  <xsl:value-of select="concat('\fI', ., '\fR')"/>
</xsl:template>

<!-- A name that has a page is followed by its section. -->
<xsl:template match="ref" mode="text">
  <xsl:variable name="id" select="@refid"/>
  <xsl:variable name="text" select="."/>
  <xsl:for-each select="$index">
    <xsl:choose>
      <xsl:when test="key('function', $id)">
        <xsl:value-of
            select="concat('\fB', key('function', $id)/name, '\fR(3)')"/>
      </xsl:when>
      <xsl:otherwise>
        <xsl:value-of select="concat('\fB', $text, '\fR')"/>
      </xsl:otherwise>
    </xsl:choose>
  </xsl:for-each>
</xsl:template>
</xsl:stylesheet>
