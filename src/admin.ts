import { COMMANDS, type Command, type Outcome } from './admin/commands.ts'
import { printable, sentence } from './admin/print.ts'
import { commandHelp, programHelp, readCommandLine, UsageError } from './admin/usage.ts'
import { loadConfig } from './config.ts'
import { AppError } from './errors.ts'
import { type Failure, toldFailure } from './failures.ts'
import { createOperatorServices, type OperatorServices } from './operator-services.ts'

/** What a command line is to print, and the exit code of its process. */
export interface Report {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface Surroundings {
  /** Opens what commands work on; they close it. */
  open(): Promise<OperatorServices>
  /** For the value of an option that is not to stand on the command line. */
  readSecret(): Promise<string>
}

const REFUSED = 1
const WRONG_USAGE = 2
const STDIN_BYTES_MAX = 64 * 1024

/** Carries out a command line; whatever goes wrong is part of the report. */
export async function reportOf(
  args: readonly string[],
  surroundings: Surroundings,
): Promise<Report> {
  const isJson = args.includes('--json')
  try {
    const request = readCommandLine(args, COMMANDS)
    if (request.kind === 'help') {
      const { command } = request
      const page = command === null ? programHelp(COMMANDS) : commandHelp(command)
      return { code: 0, stdout: `${page}\n`, stderr: '' }
    }
    const { json, text } = await carryOut(request.command, request.values, surroundings)
    return { code: 0, stdout: `${isJson ? JSON.stringify(json) : text}\n`, stderr: '' }
  } catch (error) {
    const reason = isJson ? JSON.stringify(failureOf(error)) : failureText(error)
    const code = error instanceof UsageError ? WRONG_USAGE : REFUSED
    return { code, stdout: '', stderr: `${reason}\n` }
  }
}

/** Opens the database for one command, and closes it whatever happens. */
async function carryOut(
  command: Command,
  given: Readonly<Record<string, string>>,
  { open, readSecret }: Surroundings,
): Promise<Outcome> {
  const values: Record<string, string> = { ...given }
  for (const [name, { isSecret }] of Object.entries(command.options)) {
    if (isSecret && given[name] === '-') values[name] = await readSecret()
  }
  const services = await open()
  try {
    return await command.run(services, {
      of: (name) => {
        const value = values[name]
        if (value === undefined) throw new TypeError(`${command.name} declares no ${name}`)
        return value
      },
    })
  } finally {
    await services.close()
  }
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

/** Wrong usage has its own help; for a program it stands in the one message. */
function failureOf(error: unknown): Failure {
  if (!(error instanceof UsageError)) return toldFailure(error)
  return { error: 'invalid_usage', message: `${error.message}; see ${error.help}` }
}

/** The reason as a sentence, and where to look for help. */
function failureText(error: unknown): string {
  const isUsage = error instanceof UsageError
  const { message } = isUsage ? error : failureOf(error)
  const text = sentence(message.split('\n').map(printable).join('\n'))
  return isUsage ? `${text}\nSee: ${error.help}` : text
}

async function main(): Promise<void> {
  const { code, stdout, stderr } = await reportOf(process.argv.slice(2), {
    open: () =>
      createOperatorServices(loadConfig(process.env), (error) => {
        console.error(`The embedded database died: ${error.message}`)
        process.exit(REFUSED)
      }),
    readSecret: readStdin,
  })
  // Whoever reads the output may have had enough of it.
  process.stdout.on('error', () => {})
  process.stdout.write(stdout)
  process.stderr.write(stderr)
  process.exitCode = code
}

if (import.meta.main) await main()
