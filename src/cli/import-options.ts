import { basename, extname } from 'node:path'
import type { Static } from '@sinclair/typebox'
import type { Environment } from '../../schemas/common.ts'
import type { ImportBody } from '../cards/import/request.ts'
import { readArguments, UsageError, ValueError } from './arguments.ts'
import { importProgram } from './import-program.ts'

/** A command line of an import. It names files; nothing is read yet. */
export interface ImportLine {
  readonly file: string
  readonly splitsFile: string | null
  readonly gradesFile: string | null
  readonly sampleFile: string | null
  /** File for the specification; null for standard output. */
  readonly out: string | null
  /** File for the certificate of the check. */
  readonly certificate: string | null
  readonly isJson: boolean
  /** True if the report lists conversions and warnings, or only counts them. */
  readonly isVerbose: boolean
  /** The body of the API, without the contents of files. */
  readonly body: Omit<ImportBody, 'card' | 'sample' | 'splits' | 'risk_grades'>
  readonly register: RegisterLine | null
}

export interface RegisterLine {
  /** URL of the service, without a slash at the end. */
  readonly url: string
  readonly environment: Static<typeof Environment>
  readonly description: string | null
  readonly autoDeploy: boolean
  readonly acceptsUnreached: boolean
}

type Body = ImportLine['body']

type ImportRequest =
  | { readonly kind: 'help'; readonly text: string }
  | { readonly kind: 'import'; readonly line: ImportLine }

/** Values by option, as the declarations in `import-program.ts` parse them. */
interface Values {
  readonly text: (option: string) => string | undefined
  readonly number: (option: string) => number | undefined
  readonly texts: (option: string) => readonly string[] | undefined
  readonly flag: (option: string) => boolean
}

/**
 * Reads the arguments of an import.
 *
 * @param call how the program is called
 * @throws UsageError
 */
export function readImportLine(args: readonly string[], call: string): ImportRequest {
  const request = readArguments(importProgram(call), args)
  if (request.kind === 'help') return request
  try {
    return { kind: 'import', line: findLine(valuesIn(request.values)) }
  } catch (error) {
    if (error instanceof ValueError) throw new UsageError(error.message, `${call} --help`)
    throw error
  }
}

function valuesIn(values: ReadonlyMap<string, unknown>): Values {
  // Each declaration fixes the type of its value.
  return {
    text: (option) => values.get(option) as string | undefined,
    number: (option) => values.get(option) as number | undefined,
    texts: (option) => values.get(option) as readonly string[] | undefined,
    flag: (option) => values.get(option) === true,
  }
}

function findLine(values: Values): ImportLine {
  const { text, flag } = values
  const file = text('FILE') ?? ''
  const url = text('register')
  const register = url === undefined ? null : readRegister(url, values)
  if (register === null)
    forbid(values, ['environment', 'description', 'auto-deploy', 'accept-unreached'], 'register')
  if (text('check') === undefined) {
    forbid(values, ['score-column', 'tolerance', 'certificate'], 'check')
  }
  return {
    file,
    splitsFile: text('splits') ?? null,
    gradesFile: text('risk-grades') ?? null,
    sampleFile: text('check') ?? null,
    out: text('out') ?? null,
    certificate: text('certificate') ?? null,
    isJson: flag('json'),
    isVerbose: flag('verbose'),
    body: makeBody(file, values),
    register,
  }
}

function forbid({ text }: Values, names: readonly string[], needed: string): void {
  const given = names.find((name) => text(name) !== undefined)
  if (given !== undefined) throw new ValueError(`--${given} needs --${needed}`)
}

function readRegister(text: string, values: Values): RegisterLine {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new ValueError('--register must be the URL of the service, such as http://127.0.0.1:3000')
  }
  return {
    url: text.replace(/\/+$/, ''),
    environment: (values.text('environment') ?? 'staging') as RegisterLine['environment'],
    description: values.text('description') ?? null,
    autoDeploy: values.flag('auto-deploy'),
    acceptsUnreached: values.flag('accept-unreached'),
  }
}

function makeBody(file: string, { text, texts, number, flag }: Values): Body {
  const commas = texts('comma-category')
  if (commas !== undefined && flag('no-comma-categories')) {
    throw new ValueError('--comma-category and --no-comma-categories exclude each other')
  }
  const tolerance = number('tolerance')
  if (tolerance !== undefined && tolerance < 0) {
    throw new ValueError('--tolerance must not be below 0')
  }
  const renamed = texts('rename')
  const body = given({
    version: text('version'),
    target: text('target'),
    tool: text('tool'),
    unseen: text('unseen'),
    probabilities: text('probabilities'),
    base_points: number('base-points'),
    intercept: number('intercept'),
    tolerance,
    categorical: texts('categorical'),
    comma_categories: flag('no-comma-categories') ? [] : commas,
    rename: renamed === undefined ? undefined : parseRename(renamed),
    has_no_specials: flag('no-specials') ? true : undefined,
    score_column: text('score-column'),
  })
  const scaling = given({
    pdo: number('pdo'),
    base_score: number('base-score'),
    rate: number('rate'),
    odds: text('odds'),
    odds_direction: text('odds-direction'),
  })
  // The declarations of the options allow only the values of the schema.
  return { ...body, name: text('name') ?? basename(file, extname(file)), scaling } as Body
}

/** The fields that have a value. */
function given(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

function parseRename(pairs: readonly string[]): Record<string, string> {
  const entries = pairs.map((pair) => {
    const at = pair.indexOf('=')
    if (at < 1 || at === pair.length - 1) {
      throw new ValueError('--rename must be OLD=NEW')
    }
    return [pair.slice(0, at), pair.slice(at + 1)] as const
  })
  return Object.fromEntries(entries)
}
