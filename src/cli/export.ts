import { readFileSync, writeFileSync } from 'node:fs'
import { exportSpec } from '../cards/export/export-spec.ts'
import { loadConfig } from '../config.ts'
import { AppError } from '../errors.ts'
import { UsageError } from './arguments.ts'
import { readCommandLine } from './export-usage.ts'
import { cliFailure } from './failures.ts'
import { printable, sentence } from './print.ts'
import { type CommandContext, DONE, REFUSED, type Report, WRONG_USAGE } from './program.ts'
import { type CliServices, createCliServices } from './services.ts'

const STDIN = 0

export function run(
  args: readonly string[],
  { call, env, onCrash }: CommandContext,
): Promise<Report> {
  return makeReport(args, { call, open: () => createCliServices(loadConfig(env), onCrash) })
}

interface ExportContext {
  /** The way the program is called. */
  readonly call: string
  /** Opens the services for a registered model; the command closes them. */
  open(): Promise<CliServices>
}

/** Runs a command line of an export. The report holds any failure; nothing is thrown. */
export async function makeReport(
  args: readonly string[],
  { call, open }: ExportContext,
): Promise<Report> {
  try {
    const line = readCommandLine(args, call)
    if (line.kind === 'help') return { code: DONE, stdout: line.text, stderr: '' }
    const { source, request, out } = line
    const specText =
      'spec' in source ? readSpec(source.spec) : await registeredSpec(source.model, open)
    const { text } = exportSpec(specText, request)
    if (out === null) return { code: DONE, stdout: text, stderr: '' }
    write(out, text)
    return { code: DONE, stdout: '', stderr: '' }
  } catch (error) {
    const code = error instanceof UsageError ? WRONG_USAGE : REFUSED
    return { code, stdout: '', stderr: findReason(error) }
  }
}

/** @throws AppError `invalid_request` if the file can't be read as UTF-8 */
function readSpec(file: string): string {
  try {
    const bytes = readFileSync(file === '-' ? STDIN : file)
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    const why = cause instanceof TypeError ? 'it is not UTF-8' : (cause as Error).message
    throw new AppError('invalid_request', `the spec can't be read: ${why}`, { cause })
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

async function registeredSpec(modelId: string, open: () => Promise<CliServices>): Promise<string> {
  const services = await open()
  try {
    const { models } = services
    return (await models.get(await models.findTeam(modelId), modelId)).specText
  } finally {
    await services.close()
  }
}

/** The reason as a sentence, then each fault with its place. */
function findReason(error: unknown): string {
  if (error instanceof UsageError) {
    return `${sentence(printable(error.message))}\nSee: ${error.help}\n`
  }
  const details = error instanceof AppError ? (error.details ?? []) : []
  const { message } = cliFailure(error)
  const lines = [sentence(message), ...details.map(({ path, message }) => `  ${path} ${message}`)]
  return `${lines.map((line) => line.split('\n').map(printable).join('\n')).join('\n')}\n`
}
