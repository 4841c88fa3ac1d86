import { basename, extname } from 'node:path'
import { parseArgs } from 'node:util'
import { IMPORT_TOOLS, ODDS_DIRECTIONS, UNSEEN_POLICIES } from '../../schemas/import.ts'
import type { ImportBody } from './request.ts'

/** The command line says something else than an import. */
export class ImportUsageError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ImportUsageError'
  }
}

/** Files are named; whoever carries it out reads them. */
export interface ImportLine {
  readonly file: string
  readonly splitsFile: string | null
  readonly sampleFile: string | null
  /** Where the specification goes; null for standard output. */
  readonly out: string | null
  /** Where the certificate of the check goes. */
  readonly certificate: string | null
  readonly isJson: boolean
  /** What the API takes, without the contents of files. */
  readonly body: Omit<ImportBody, 'card' | 'sample' | 'splits'>
  readonly register: RegisterLine | null
}

export interface RegisterLine {
  /** Of the service, without a path. */
  readonly url: string
  readonly environment: 'production' | 'staging'
  readonly description: string | null
  readonly autoDeploy: boolean
}

const ENVIRONMENTS = ['production', 'staging'] as const

const TEXT = { type: 'string' } as const
const TEXTS = { type: 'string', multiple: true } as const
const FLAG = { type: 'boolean' } as const

const OPTIONS = {
  ...{ tool: TEXT, name: TEXT, version: TEXT, target: TEXT },
  ...{ pdo: TEXT, 'base-score': TEXT, odds: TEXT, 'odds-direction': TEXT, rate: TEXT },
  ...{ 'base-points': TEXT, intercept: TEXT, unseen: TEXT, splits: TEXT, 'no-specials': FLAG },
  ...{ categorical: TEXTS, 'comma-category': TEXTS, 'no-comma-categories': FLAG, rename: TEXTS },
  ...{ check: TEXT, 'score-column': TEXT, tolerance: TEXT, certificate: TEXT, out: TEXT },
  ...{ register: TEXT, environment: TEXT, description: TEXT, 'auto-deploy': FLAG },
  ...{ json: FLAG, help: { ...FLAG, short: 'h' } },
} as const

/** Options that can be given more than once. */
const REPEATED = new Set(['categorical', 'comma-category', 'rename'])

type Values = ReturnType<typeof parse>['values']

/**
 * Reads the command line of an import.
 *
 * @returns null when it asks for help
 * @throws ImportUsageError
 */
export function readImportLine(args: readonly string[]): ImportLine | null {
  const { values, positionals } = parse(args)
  if (values.help === true) return null
  const [file, second] = positionals
  if (file === undefined) throw new ImportUsageError('no FILE is given')
  if (second !== undefined) throw new ImportUsageError('there is more than one FILE')
  const register = values.register === undefined ? null : registerOf(values.register, values)
  if (register === null) forbid(values, ['environment', 'description', 'auto-deploy'], 'register')
  if (values.check === undefined)
    forbid(values, ['score-column', 'tolerance', 'certificate'], 'check')
  return {
    file,
    splitsFile: values.splits ?? null,
    sampleFile: values.check ?? null,
    out: values.out ?? null,
    certificate: values.certificate ?? null,
    isJson: values.json === true,
    body: bodyOf(file, values),
    register,
  }
}

function parse(args: readonly string[]) {
  try {
    const options = {
      args: [...args],
      options: OPTIONS,
      allowPositionals: true,
      tokens: true,
    } as const
    const { values, positionals, tokens } = parseArgs(options)
    const names = tokens.flatMap((token) => (token.kind === 'option' ? [token.name] : []))
    const twice = names.find((name, index) => names.indexOf(name) < index && !REPEATED.has(name))
    if (twice !== undefined) throw new ImportUsageError(`--${twice} is given more than once`)
    return { values, positionals }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new ImportUsageError(error.message.replace(/\. To specify.*/s, ''))
  }
}

function forbid(values: Values, names: readonly (keyof Values)[], needed: string): void {
  const given = names.find((name) => values[name] !== undefined)
  if (given !== undefined) throw new ImportUsageError(`--${given} needs --${needed}`)
}

function registerOf(text: string, values: Values): RegisterLine {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new ImportUsageError(
      '--register must be the URL of the service, as http://127.0.0.1:3000',
    )
  }
  return {
    url: text.replace(/\/+$/, ''),
    environment: oneOf('environment', values.environment ?? 'staging', ENVIRONMENTS),
    description: values.description ?? null,
    autoDeploy: values['auto-deploy'] === true,
  }
}

function bodyOf(file: string, values: Values): ImportLine['body'] {
  const numbers = numbersOf(values)
  const commas = values['comma-category']
  if (commas !== undefined && values['no-comma-categories'] === true) {
    throw new ImportUsageError('--comma-category and --no-comma-categories exclude each other')
  }
  return {
    name: values.name ?? basename(file, extname(file)),
    ...(values.version !== undefined && { version: values.version }),
    ...(values.target !== undefined && { target: values.target }),
    ...(values.tool !== undefined && { tool: oneOf('tool', values.tool, IMPORT_TOOLS) }),
    ...(values.unseen !== undefined && {
      unseen: oneOf('unseen', values.unseen, UNSEEN_POLICIES),
    }),
    scaling: {
      ...numbers.scaling,
      ...(values.odds !== undefined && { odds: values.odds }),
      ...(values['odds-direction'] !== undefined && {
        odds_direction: oneOf('odds-direction', values['odds-direction'], ODDS_DIRECTIONS),
      }),
    },
    ...numbers.other,
    ...(values.categorical !== undefined && { categorical: values.categorical }),
    ...(commas !== undefined && { comma_categories: commas }),
    ...(values['no-comma-categories'] === true && { comma_categories: [] }),
    ...(values.rename !== undefined && { rename: renameOf(values.rename) }),
    ...(values['no-specials'] === true && { has_no_specials: true }),
    ...(values['score-column'] !== undefined && { score_column: values['score-column'] }),
  }
}

function numbersOf(values: Values) {
  const number = (
    option: 'pdo' | 'base-score' | 'rate' | 'base-points' | 'intercept' | 'tolerance',
  ) => {
    const text = values[option]
    const value = Number(text)
    if (text === undefined) return undefined
    if (text.trim() !== '' && Number.isFinite(value)) return value
    throw new ImportUsageError(`--${option} must be a number`)
  }
  const given = <Fields extends object>(fields: Fields) =>
    Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
  const tolerance = number('tolerance')
  if (tolerance !== undefined && tolerance < 0) {
    throw new ImportUsageError('--tolerance must not be below 0')
  }
  return {
    scaling: given({ pdo: number('pdo'), base_score: number('base-score'), rate: number('rate') }),
    other: given({ base_points: number('base-points'), intercept: number('intercept'), tolerance }),
  }
}

function oneOf<Value extends string>(
  option: string,
  text: string,
  values: readonly Value[],
): Value {
  const value = values.find((known) => known === text)
  if (value !== undefined) return value
  throw new ImportUsageError(`--${option} must be one of ${values.join(', ')}`)
}

function renameOf(pairs: readonly string[]): Record<string, string> {
  const entries = pairs.map((pair) => {
    const at = pair.indexOf('=')
    if (at < 1 || at === pair.length - 1) {
      throw new ImportUsageError('--rename must be OLD=NEW')
    }
    return [pair.slice(0, at), pair.slice(at + 1)] as const
  })
  return Object.fromEntries(entries)
}
