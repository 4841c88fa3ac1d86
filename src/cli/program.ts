import { Command } from 'commander'
import { VERSION } from '../platform/version.ts'
import { readArguments, UsageError } from './arguments.ts'
import { printable, sentence } from './print.ts'

/** The help of the whole program, or the refusal of a command that does not exist. */
export function programReport(
  name: string,
  commands: ReadonlyArray<{ readonly name: string; readonly summary: string }>,
  args: readonly string[],
): Report {
  const program = new Command(name)
    .description('Hosts scorecards and scores applicants over HTTP.')
    .version(VERSION)
    .addHelpText('after', ['', `Help of a command: ${name} serve --help`, EXIT_CODES].join('\n'))
  for (const command of commands) program.command(command.name).summary(command.summary)
  const read = readOrReport(program, args)
  // `main.ts` runs the commands itself, so that only help and refusals come here.
  if (!('code' in read)) throw new TypeError('a command of the program was not run')
  return read
}

/** The values of the arguments, or the report that ends the command: its help, or the refusal. */
export function readOrReport(
  program: Command,
  args: readonly string[],
): ReadonlyMap<string, unknown> | Report {
  try {
    const request = readArguments(program, args)
    if (request.kind === 'run') return request.values
    return { code: DONE, stdout: request.text, stderr: '' }
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    return failureReport(error)
  }
}

/** Reports wrong usage, with the call that prints help, or any other failure, as a sentence. */
export function failureReport(error: UsageError | { readonly message: string }): Report {
  const text = sentence(printable(error.message))
  if (!(error instanceof UsageError)) return { code: REFUSED, stdout: '', stderr: `${text}\n` }
  return { code: WRONG_USAGE, stdout: '', stderr: `${text}\nSee: ${error.help}\n` }
}

/** Texts that a command prints, and the exit code of its process. */
export interface Report {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Things that a command gets from its process. */
export interface CommandContext {
  readonly env: Readonly<Record<string, string | undefined>>
  /** The way the command is called, such as `scoreline admin`. */
  readonly call: string
  /** Runs when the embedded database dies. */
  readonly onCrash: (error: Error) => void
}

export const DONE = 0
export const REFUSED = 1
export const WRONG_USAGE = 2

/** The last line of each page of help. */
export const EXIT_CODES =
  'Exit code: 0 done; 1 refused or failed, with the reason on standard error; 2 wrong usage.'
