import { readFileSync, writeFileSync } from 'node:fs'
import { printable, sentence } from './admin/print.ts'
import { loadConfig } from './config.ts'
import { AppError } from './errors.ts'
import { exportSpec } from './export/service.ts'
import { ExportUsageError, HELP, readCommandLine } from './export/usage.ts'
import { toldFailure } from './failures.ts'
import { createOperatorServices, type OperatorServices } from './operator-services.ts'

/** What an export is to print, and the exit code of its process. */
export interface Report {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

const REFUSED = 1
const WRONG_USAGE = 2
const STDIN = 0

/** Carries out a command line; whatever goes wrong is part of the report. */
export async function reportOf(
  args: readonly string[],
  open: () => Promise<OperatorServices>,
): Promise<Report> {
  try {
    const line = readCommandLine(args)
    if (line.kind === 'help') return { code: 0, stdout: HELP, stderr: '' }
    const { source, request, out } = line
    const specText =
      'spec' in source ? readSpec(source.spec) : await registeredSpec(source.model, open)
    const { text } = exportSpec(specText, request)
    if (out === null) return { code: 0, stdout: text, stderr: '' }
    write(out, text)
    return { code: 0, stdout: '', stderr: '' }
  } catch (error) {
    const code = error instanceof ExportUsageError ? WRONG_USAGE : REFUSED
    return { code, stdout: '', stderr: reasonOf(error) }
  }
}

/** @throws AppError `invalid_request` for what can't be read as UTF-8 */
function readSpec(file: string): string {
  try {
    const bytes = readFileSync(file === '-' ? STDIN : file)
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    const why = cause instanceof TypeError ? 'it is not UTF-8' : (cause as Error).message
    throw new AppError('invalid_request', `the spec can not be read: ${why}`, { cause })
  }
}

/** @throws AppError `invalid_request` naming the file */
function write(file: string, text: string): void {
  try {
    writeFileSync(file, text)
  } catch (cause) {
    const why = (cause as Error).message
    throw new AppError('invalid_request', `${file} can't be written: ${why}`, { cause })
  }
}

async function registeredSpec(
  modelId: string,
  open: () => Promise<OperatorServices>,
): Promise<string> {
  const services = await open()
  try {
    const { models } = services
    return (await models.get(await models.teamOf(modelId), modelId)).specText
  } finally {
    await services.close()
  }
}

/** The reason as a sentence, then each fault with its place. */
function reasonOf(error: unknown): string {
  if (error instanceof ExportUsageError) {
    return `${sentence(printable(error.message))}\nSee: npm run export -- --help\n`
  }
  const details = error instanceof AppError ? (error.details ?? []) : []
  // What reads JSON speaks of the body of a request.
  const message = toldFailure(error).message.replace(/^the body /, 'the spec ')
  const lines = [sentence(message), ...details.map(({ path, message }) => `  ${path} ${message}`)]
  return `${lines.map((line) => line.split('\n').map(printable).join('\n')).join('\n')}\n`
}

async function main(): Promise<void> {
  const { code, stdout, stderr } = await reportOf(process.argv.slice(2), () =>
    createOperatorServices(loadConfig(process.env), (error) => {
      console.error(`The embedded database died: ${error.message}`)
      process.exit(REFUSED)
    }),
  )
  // Whoever reads the output may have had enough of it.
  process.stdout.on('error', () => {})
  process.stdout.write(stdout)
  process.stderr.write(stderr)
  process.exitCode = code
}

if (import.meta.main) await main()
