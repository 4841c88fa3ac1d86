import { COMMANDS, type Command, type Outcome } from './admin/commands.ts'
import { printable, sentence } from './admin/print.ts'
import {
  type Arguments,
  commandHelp,
  programHelp,
  readCommandLine,
  UsageError,
} from './admin/usage.ts'
import { ConfigError, loadConfig } from './config.ts'
import { DataDirInUseError } from './data-dir.ts'
import { DatabaseOpenError } from './db/errors.ts'
import { AppError } from './errors.ts'
import { createOperatorServices } from './services.ts'

/** Why a command was not carried out. */
interface Failure {
  readonly error: string
  readonly message: string
}

const REFUSED = 1
const WRONG_USAGE = 2
const STDIN_BYTES_MAX = 64 * 1024

/** Prints a help page or what a command did; throws what went wrong. */
async function main(args: readonly string[], isJson: boolean): Promise<void> {
  const request = readCommandLine(args, COMMANDS)
  if (request.kind === 'help') {
    const { command } = request
    console.log(command === null ? programHelp(COMMANDS) : commandHelp(command))
    return
  }
  const { command } = request
  const values = await withSecrets(command, request.values)
  const outcome = await carryOut(command, {
    of: (name) => {
      const value = values[name]
      if (value === undefined) throw new TypeError(`${command.name} declares no ${name}`)
      return value
    },
  })
  console.log(isJson ? JSON.stringify(outcome.json) : outcome.text)
}

/** Opens the database for one command, and closes it whatever happens. */
async function carryOut(command: Command, args: Arguments): Promise<Outcome> {
  const services = await createOperatorServices(loadConfig(process.env), (error) => {
    console.error(`The embedded database died: ${error.message}`)
    process.exit(REFUSED)
  })
  try {
    return await command.run(services, args)
  } finally {
    await services.close()
  }
}

/** Reads from standard input what is not to stand on the command line. */
async function withSecrets(command: Command, values: Readonly<Record<string, string>>) {
  const read: Record<string, string> = { ...values }
  for (const [name, { isSecret }] of Object.entries(command.options)) {
    if (isSecret && values[name] === '-') read[name] = await readStdin()
  }
  return read
}

/** What standard input holds, without a line break at its end. */
async function readStdin(): Promise<string> {
  if (process.stdin.isTTY) {
    console.error('Reading the password up to Ctrl-D; it shows on the screen.')
  }
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of process.stdin) {
    bytes += chunk.length
    if (bytes > STDIN_BYTES_MAX) throw new AppError('invalid_request', 'standard input is too long')
    chunks.push(chunk)
  }
  try {
    // What is no UTF-8 would be replaced, and another password be set than the one meant.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
    return text.decode(Buffer.concat(chunks)).replace(/\r?\n$/, '')
  } catch (cause) {
    throw new AppError('invalid_request', 'standard input is not UTF-8', { cause })
  }
}

/** The reason as a sentence, and where to look for help. */
function failureText(error: unknown): string {
  const isUsage = error instanceof UsageError
  const { message } = isUsage ? error : failureOf(error)
  const text = sentence(message.split('\n').map(printable).join('\n'))
  return isUsage ? `${text}\nSee: ${error.help}` : text
}

function failureOf(error: unknown): Failure {
  const { message } = error instanceof Error ? error : { message: 'the command failed' }
  if (error instanceof UsageError) {
    return { error: 'invalid_usage', message: `${message}; see ${error.help}` }
  }
  if (error instanceof AppError) return { error: error.code, message }
  if (error instanceof ConfigError) return { error: 'invalid_configuration', message }
  if (error instanceof DataDirInUseError) return { error: 'data_dir_in_use', message }
  if (error instanceof DatabaseOpenError) return { error: 'unavailable', message }
  return { error: 'internal_error', message: chainOf(error).map(textOf).join(': ') }
}

function chainOf(error: unknown): Error[] {
  return error instanceof Error ? [error, ...chainOf(error.cause)] : []
}

/** The text of a failed statement holds its parameters, among them the hash of a password. */
function textOf(error: Error): string {
  return 'params' in error ? 'a statement failed' : error.message.replace(/\.$/, '')
}

if (import.meta.main) {
  const args = process.argv.slice(2)
  const isJson = args.includes('--json')
  // Whoever reads the output may have had enough of it.
  process.stdout.on('error', () => {})
  try {
    await main(args, isJson)
  } catch (error) {
    console.error(isJson ? JSON.stringify(failureOf(error)) : failureText(error))
    process.exitCode = error instanceof UsageError ? WRONG_USAGE : REFUSED
  }
}
