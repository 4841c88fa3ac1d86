/** An element: its name, its attributes in order, and its child elements or a number. */
export interface Element {
  readonly name: string
  readonly attributes: Readonly<Record<string, string | number>>
  readonly content: readonly Element[] | number
}

export function element(
  name: string,
  attributes: Element['attributes'] = {},
  content: Element['content'] = [],
): Element {
  return { name, attributes, content }
}

/** Tells whether XML 1.0 can contain the text, with or without escapes. */
export function isXmlText(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what XML can't hold
  return text.isWellFormed() && !/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/.test(text)
}

/** Writes a document of elements and attributes; every text must be `isXmlText`. */
export function writeXml(root: Element): string {
  const lines = ['<?xml version="1.0" encoding="UTF-8"?>']
  addLines(root, '', lines)
  return `${lines.join('\n')}\n`
}

function addLines({ name, attributes, content }: Element, indent: string, lines: string[]): void {
  let start = `${indent}<${name}`
  for (const key of Object.keys(attributes)) {
    start += ` ${key}="${attributeText(attributes[key] ?? '')}"`
  }
  if (typeof content === 'number') lines.push(`${start}>${attributeText(content)}</${name}>`)
  else if (content.length === 0) lines.push(`${start}/>`)
  else {
    lines.push(`${start}>`)
    for (const child of content) addLines(child, `${indent}  `, lines)
    lines.push(`${indent}</${name}>`)
  }
}

function attributeText(value: string | number): string {
  if (typeof value === 'number') return numberText(value)
  // A reader turns unescaped line breaks and tabs into spaces.
  return value.replace(/[&<>"'\t\n\r\u0085\u2028]/g, (char) => `&#${char.charCodeAt(0)};`)
}

/**
 * The shortest text that reads back as this double. Whole numbers beyond 32 bits and -0 get a
 * decimal point, because some readers would take them for integers and truncate them.
 */
function numberText(value: number): string {
  const text = Object.is(value, -0) ? '-0' : String(value)
  const isSmallInteger = value === Math.trunc(value) && Math.abs(value) < 2 ** 31
  return isSmallInteger && text !== '-0' ? text : /[.e]/.test(text) ? text : `${text}.0`
}
