import { Command, type Option } from 'commander'
import { loadConfig } from '../config.ts'
import { AppError } from '../errors.ts'
import { type AdminCommand, COMMANDS, type Outcome, SecretOption } from './admin-commands.ts'
import { readArguments, UsageError } from './arguments.ts'
import { cliFailure, type Failure } from './failures.ts'
import { printable, sentence } from './print.ts'
import {
  type CommandContext,
  DONE,
  EXIT_CODES,
  REFUSED,
  type Report,
  WRONG_USAGE,
} from './program.ts'
import { type CliServices, createCliServices } from './services.ts'

/** Things that the commands get from their process, or from a test. */
export interface AdminContext {
  /** The way the program is called. */
  readonly call: string
  /** Opens the services that a command works on; the command closes them. */
  open(): Promise<CliServices>
  /** Reads the value of an option that should not stand on the command line. */
  readSecret(): Promise<string>
}

const STDIN_BYTES_MAX = 64 * 1024

export function run(
  args: readonly string[],
  { call, env, onCrash }: CommandContext,
): Promise<Report> {
  const open = () => createCliServices(loadConfig(env), onCrash)
  return makeReport(args, { call, open, readSecret: readStdin })
}

/** Runs a command line. The report holds any failure; nothing is thrown. */
export async function makeReport(args: readonly string[], context: AdminContext): Promise<Report> {
  const isJson = args.includes('--json')
  try {
    const request = readArguments(adminProgram(context.call), args)
    if (request.kind === 'help') return { code: DONE, stdout: request.text, stderr: '' }
    const name = `${request.command.parent?.name()} ${request.command.name()}`
    const command = COMMANDS.find((one) => one.name === name)
    if (command === undefined) throw new TypeError(`${name} is declared, but not listed`)
    const { json, text } = await runCommand(command, request.values, context)
    return { code: DONE, stdout: `${isJson ? JSON.stringify(json) : text}\n`, stderr: '' }
  } catch (error) {
    const reason = isJson ? JSON.stringify(classifyFailure(error)) : failureText(error)
    const code = error instanceof UsageError ? WRONG_USAGE : REFUSED
    return { code, stdout: '', stderr: `${reason}\n` }
  }
}

/**
 * Declares the commands, with their help.
 *
 * @param call how the program is called, such as `scoreline admin`
 */
export function adminProgram(call: string): Command {
  const program = new Command(call)
    .summary('manages teams, users and API keys')
    .description(
      'Manages teams, users and API keys in the database that the environment variables of the ' +
        'service name: the PostgreSQL of DATABASE_URL, where the service can keep running, or ' +
        'the embedded database under DATA_DIR, where the service must be stopped first. A ' +
        'PostgreSQL without the tables of this version is refused: see scoreline migrate. The ' +
        "team's audit log records each change with the actor operator.",
    )
    .option('--json', 'prints JSON with the fields of the REST API; errors too, on standard error')
    .addHelpText(
      'after',
      [
        '',
        `Help of a command: ${call} team create --help`,
        'A password given as - is read from standard input.',
        'npm prints lines of its own; for JSON alone: npm run --silent admin -- team list --json',
        '',
        EXIT_CODES,
      ].join('\n'),
    )
  for (const command of COMMANDS) declare(program, command)
  return program
}

const GROUPS: Readonly<Record<string, string>> = {
  team: 'manages teams',
  user: 'manages the users of a team',
  key: 'manages the API keys of a team',
}

function declare(program: Command, { name, summary, notes, operand, options }: AdminCommand): void {
  const [groupName = '', verb = ''] = name.split(' ')
  const group =
    program.commands.find((one) => one.name() === groupName) ??
    program.command(groupName).description(sentence(GROUPS[groupName] ?? ''))
  const command = group.command(verb).summary(summary)
  command.description([sentence(summary), ...(notes === undefined ? [] : ['', notes])].join('\n'))
  if (operand !== undefined) command.argument(`<${operand.name}>`, operand.about)
  for (const option of options) command.addOption(option.makeOptionMandatory())
  command.addHelpText(
    'after',
    ['', ...secretHint(program.name(), name, options), EXIT_CODES].join('\n'),
  )
}

/** Tells how to keep a password off the command line. */
function secretHint(call: string, name: string, options: readonly Option[]): string[] {
  const secret = options.find((option) => option instanceof SecretOption)
  if (secret === undefined) return []
  const others = options.filter((option) => option !== secret).map(({ flags }) => flags)
  return [
    'A command line shows in the list of processes and in the history of the shell. From a file:',
    `  ${[call, name, ...others, secret.long].join(' ')} - < password.txt`,
    '',
  ]
}

/** Opens the database for one command, and closes it whatever happens. */
async function runCommand(
  command: AdminCommand,
  given: ReadonlyMap<string, unknown>,
  { open, readSecret }: AdminContext,
): Promise<Outcome> {
  const values = new Map(given)
  for (const option of command.options) {
    if (option instanceof SecretOption && given.get(formatName(option)) === '-') {
      values.set(formatName(option), await readSecret())
    }
  }
  const services = await open()
  try {
    return await command.run(services, {
      of: (name) => {
        const value = values.get(name)
        if (typeof value !== 'string') throw new TypeError(`${command.name} declares no ${name}`)
        return value
      },
    })
  } finally {
    await services.close()
  }
}

function formatName({ long }: Option): string {
  return long?.slice(2) ?? ''
}

/** Reads standard input, without a line break at its end. */
async function readStdin(): Promise<string> {
  if (process.stdin.isTTY) {
    console.error('Type the password, then Ctrl-D. The screen shows what you type.')
  }
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of process.stdin) {
    bytes += chunk.length
    if (bytes > STDIN_BYTES_MAX) throw new AppError('invalid_request', 'standard input is too long')
    chunks.push(chunk)
  }
  try {
    // A lenient decoder would replace invalid bytes, and so set another password.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
    return text.decode(Buffer.concat(chunks)).replace(/\r?\n$/, '')
  } catch (cause) {
    throw new AppError('invalid_request', 'standard input is not UTF-8', { cause })
  }
}

/** For a program, the message itself names the help for wrong usage. */
function classifyFailure(error: unknown): Failure {
  if (!(error instanceof UsageError)) return cliFailure(error)
  return { error: 'invalid_usage', message: `${error.message}; see ${error.help}` }
}

/** The reason as a sentence, then the call that prints help. */
function failureText(error: unknown): string {
  const isUsage = error instanceof UsageError
  const { message } = isUsage ? error : classifyFailure(error)
  const text = sentence(message.split('\n').map(printable).join('\n'))
  return isUsage ? `${text}\nSee: ${error.help}` : text
}
