import { parseXml, XmlDocumentType, XmlElement, XmlError } from '@rgrove/parse-xml'
import type { Notes } from '../build/notes.ts'

/** An element without comments, extensions and name spaces, which a card does not need. */
export interface Element {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: readonly Element[]
  readonly text: string
}

/** Most levels of nested elements; real scorecards have about ten. */
const DEPTH_MAX = 100

/**
 * Reads an XML document. A document type is refused: the reader neither expands nor loads what it
 * declares, so the document could mean something else than what was read.
 *
 * @returns null after a fault
 */
export function readXml(text: string, notes: Notes): Element | null {
  try {
    const document = parseXml(text, { preserveDocumentType: true })
    const { root } = document
    if (document.children.some((node) => node instanceof XmlDocumentType)) {
      notes.fault('file', 'has a DOCTYPE: remove it; entities are not expanded')
      return null
    }
    if (root === null) {
      notes.fault('file', 'has no root element')
      return null
    }
    return readElement(root, DEPTH_MAX)
  } catch (error) {
    notes.fault('file', `is not readable XML: ${findReason(error)}`)
    return null
  }
}

function findReason(error: unknown): string {
  if (error instanceof RangeError) return 'its elements are nested too deeply'
  if (error instanceof XmlError) return error.message.split('\n')[0] ?? ''
  throw error
}

function readElement(element: XmlElement, depth: number): Element {
  if (depth === 0) throw new RangeError('nested too deeply')
  const { name, attributes, children } = element
  const elements = children
    .filter((child) => child instanceof XmlElement)
    .map((child) => readElement(child, depth - 1))
  return {
    name: localName(name),
    attributes,
    children: elements.filter((child) => child.name !== 'Extension'),
    // The parser joins the texts of all levels below each time that it is asked.
    text: elements.length === 0 ? element.text : '',
  }
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1)
}

export function findChildren(element: Element, name: string): Element[] {
  return element.children.filter((child) => child.name === name)
}

export function findChild(element: Element, name: string): Element | undefined {
  return element.children.find((child) => child.name === name)
}
