import { parseArgs } from 'node:util'

/** How a command is called. */
export interface Syntax {
  /** For instance `team create`. */
  readonly name: string
  /** What it does, in the third person. */
  readonly summary: string
  /** Name of what stands behind the command, such as `KEY_ID`. */
  readonly operand?: string
  /** By name without dashes; each is required and given once. */
  readonly options: Readonly<Record<string, OptionSyntax>>
  /** What else to know before it is called. */
  readonly notes?: readonly string[]
}

interface OptionSyntax {
  /** Stands for the value, such as `EMAIL`. */
  readonly value: string
  readonly about: string
  /** The only values that it takes, and what to call them. */
  readonly takes?: { readonly form: RegExp; readonly told: string }
  /** A single dash for a value means standard input. */
  readonly isSecret?: boolean
}

/** What a command was called with. */
export interface Arguments {
  /** The value of an option, or of the operand by its name. */
  of(name: string): string
}

/** The command line says something else than a command. */
export class UsageError extends Error {
  /** The call that prints the help for it. */
  readonly help: string

  constructor(message: string, command?: Syntax) {
    super(message)
    this.name = 'UsageError'
    this.help = [CALL, ...(command === undefined ? [] : [command.name]), '--help'].join(' ')
  }
}

/** What the command line asks for. */
export type Request<Command extends Syntax> =
  /** The help of a command, or of all. */
  | { readonly kind: 'help'; readonly command: Command | null }
  | {
      readonly kind: 'run'
      readonly command: Command
      readonly values: Readonly<Record<string, string>>
    }

const CALL = 'npm run admin --'
const FLAGS = { json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } as const
const COLUMNS = 100

/**
 * Reads a command line.
 *
 * @param args what follows the program's name
 * @throws UsageError
 */
export function readCommandLine<Command extends Syntax>(
  args: readonly string[],
  commands: readonly Command[],
): Request<Command> {
  const at = args.findIndex((arg) => !arg.startsWith('-'))
  const words = at === -1 ? '' : args.slice(at, at + 2).join(' ')
  const command = commands.find(({ name }) => name === words)
  if (command === undefined) {
    if (args.includes('--help') || args.includes('-h')) return { kind: 'help', command: null }
    throw new UsageError(words === '' ? 'no command is given' : `"${words}" is no command`)
  }
  const { values, positionals } = parse(command, [...args.slice(0, at), ...args.slice(at + 2)])
  if (values['help'] === true) return { kind: 'help', command }
  return { kind: 'run', command, values: readValues(command, values, positionals) }
}

function parse(command: Syntax, args: string[]) {
  const option = { type: 'string', multiple: true } as const
  const options = Object.keys(command.options).map((name) => [name, option] as const)
  try {
    return parseArgs({
      args,
      options: { ...FLAGS, ...Object.fromEntries(options) },
      allowPositionals: command.operand !== undefined,
    })
  } catch (error) {
    if (!(error instanceof TypeError && 'code' in error)) throw error
    if (!`${error.code}`.startsWith('ERR_PARSE_ARGS')) throw error
    const isUnknown = error.code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION'
    // What follows the first sentence is about arguments that begin with a dash.
    const message = isUnknown ? error.message.replace(/\. .*/s, '') : error.message
    throw new UsageError(message.replaceAll('\n', ' '), command)
  }
}

function readValues(
  command: Syntax,
  values: Readonly<Record<string, unknown>>,
  positionals: readonly string[],
): Record<string, string> {
  const { operand, options } = command
  const read: Record<string, string> = {}
  if (operand !== undefined) {
    const [value, ...rest] = positionals
    if (value === undefined) throw new UsageError(`${operand} is missing`, command)
    if (rest.length > 0) throw new UsageError(`there is more than one ${operand}`, command)
    read[operand] = value
  }
  for (const [name, { value: placeholder, takes }] of Object.entries(options)) {
    const [value, ...rest] = Array.isArray(values[name]) ? values[name] : []
    if (value === undefined) throw new UsageError(`--${name} ${placeholder} is missing`, command)
    if (rest.length > 0) throw new UsageError(`--${name} is given more than once`, command)
    if (takes?.form.test(value) === false) {
      throw new UsageError(`--${name} must be ${takes.told}`, command)
    }
    read[name] = value
  }
  return read
}

/** The page that explains a command. */
export function commandHelp(command: Syntax): string {
  const { name, summary, operand, options, notes = [] } = command
  const syntax = Object.entries(options)
  const parts = [
    ...(operand === undefined ? [] : [operand]),
    ...syntax.map(([option, { value }]) => `--${option} ${value}`),
  ]
  const rows = [
    ...syntax.map(([option, { value, about }]) => [`--${option} ${value}`, about] as const),
    ...FLAG_ROWS,
  ]
  const secret = syntax.find(([, { isSecret }]) => isSecret)?.[0]
  const others = parts.filter((part) => secret === undefined || !part.startsWith(`--${secret} `))
  return [
    `Usage: ${[CALL, name, ...parts].join(' ')} [--json]`,
    '',
    `${capitalized(summary)}.`,
    ...notes.flatMap((note) => ['', ...wrapped(note, COLUMNS)]),
    '',
    'Options:',
    ...definitions(rows),
    ...(secret === undefined
      ? []
      : [
          '',
          'A command line shows up in the list of processes and in the history of the shell. From a file:',
          `  ${[CALL, name, ...others].join(' ')} --${secret} - < password.txt`,
        ]),
    '',
    EXIT_CODES,
  ].join('\n')
}

/** The page that explains the program. */
export function programHelp(commands: readonly Syntax[]): string {
  const environment =
    'Manages teams, users and API keys in the database that the environment variables of the service ' +
    'name: the PostgreSQL of DATABASE_URL, where the service may go on running, or the embedded one ' +
    'under DATA_DIR, where it must be stopped first. Tables are made or brought up to date as at the ' +
    "start of the service. Each change is written into the team's audit log, with the actor operator."
  return [
    `Usage: ${CALL} COMMAND [OPTIONS]`,
    '',
    ...wrapped(environment, COLUMNS),
    '',
    'Commands:',
    ...definitions(commands.map(({ name, summary }) => [name, summary])),
    '',
    'Options of every command:',
    ...definitions(FLAG_ROWS),
    '',
    `Help of a command: ${CALL} team create --help`,
    'A password given as - is read from standard input.',
    'npm prints lines of its own; for JSON alone: npm run --silent admin -- team list --json',
    '',
    EXIT_CODES,
  ].join('\n')
}

const FLAG_ROWS: ReadonlyArray<readonly [string, string]> = [
  ['--json', 'prints JSON with the fields of the REST API; errors too, on standard error'],
  ['--help', 'prints this page'],
]
const EXIT_CODES =
  'Exit code: 0 done; 1 refused or failed, with the reason on standard error; 2 wrong usage.'

/** Terms, aligned, each with its explanation. */
function definitions(rows: ReadonlyArray<readonly [string, string]>): string[] {
  const width = Math.max(...rows.map(([term]) => term.length))
  const indent = ' '.repeat(width + 4)
  return rows.map(([term, about]) => {
    const lines = wrapped(about, COLUMNS - indent.length)
    return `  ${term.padEnd(width)}  ${lines.join(`\n${indent}`)}`
  })
}

function wrapped(text: string, columns: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const line = lines.at(-1)
    if (line === undefined || line.length + 1 + word.length > columns) lines.push(word)
    else lines[lines.length - 1] = `${line} ${word}`
  }
  return lines
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
