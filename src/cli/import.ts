import { readFile, writeFile } from 'node:fs/promises'
import { Notes } from '../cards/import/build/notes.ts'
import { decode, readJson } from '../cards/import/build/source.ts'
import { type ImportBody, makeImportInput } from '../cards/import/request.ts'
import { certificateFields, importFields } from '../cards/import/responses.ts'
import { type ImportOutcome, runImport } from '../cards/import/run-import.ts'
import { UsageError } from './arguments.ts'
import { type ImportLine, readImportLine } from './import-options.ts'
import { importReport } from './import-report.ts'
import { printable } from './print.ts'
import { failureReport } from './program.ts'
import { registerAt } from './register.ts'
import { RemoteError } from './remote-service.ts'
import { type CommandContext, DONE, REFUSED, type Report } from './report.ts'

const FILE_BYTES_MAX = 256 * 1024 * 1024

/** A file stopped the command before there was an outcome. */
class RefusedError extends Error {}

export function run(args: readonly string[], { call, env }: CommandContext): Promise<Report> {
  return makeReport(args, { call, token: env['SCORELINE_TOKEN'] })
}

interface ImportContext {
  /** The way the program is called. */
  readonly call: string
  /** Access token of a user who may deploy, for `--register`. */
  readonly token: string | undefined
}

/** Runs a command line of an import. The report holds an expected failure; others are thrown. */
export async function makeReport(
  args: readonly string[],
  { call, token }: ImportContext,
): Promise<Report> {
  try {
    const request = readImportLine(args, call)
    if (request.kind === 'help') return { code: DONE, stdout: request.text, stderr: '' }
    return await importCard(request.line, token)
  } catch (error) {
    const isExpected =
      error instanceof UsageError || error instanceof RefusedError || error instanceof RemoteError
    if (!isExpected) throw error
    return failureReport(error)
  }
}

async function importCard(line: ImportLine, token: string | undefined): Promise<Report> {
  if (line.register !== null && !token) {
    throw new RefusedError('SCORELINE_TOKEN must hold an access token, to register the model')
  }
  const body = await makeBody(line)
  const outcome = runImport(makeImportInput(body))
  const { certificate, spec } = outcome
  const isGood = spec !== null && outcome.parity?.agrees !== false
  if (line.certificate !== null && certificate !== null) {
    await write(line.certificate, formatJson(certificateFields(certificate)))
  }
  const registered =
    isGood && line.register !== null ? await registerAt(line.register, token ?? '', body) : null
  if (isGood && line.out !== null) await write(line.out, formatJson(spec))
  const code = isGood ? DONE : REFUSED
  if (line.isJson) {
    return { code, stdout: formatJson(registered ?? importFields(outcome)), stderr: '' }
  }
  const stdout = isGood && line.out === null && line.register === null ? formatJson(spec) : ''
  return { code, stdout, stderr: `${formatStderr(outcome, registered, line.isVerbose)}\n` }
}

function formatStderr(outcome: ImportOutcome, response: unknown, isVerbose: boolean): string {
  const report = importReport(outcome, isVerbose)
  if (response === null) return report
  return [report, 'Registered:', `  ${printable(registeredText(response))}`].join('\n')
}

/** The ids in the response of the service. */
function registeredText(response: unknown): string {
  const { registered } = response as {
    registered: { model_id: string; deployment: { endpoint: string } | null }
  }
  const { model_id: modelId, deployment } = registered
  return deployment === null ? modelId : `${modelId}, which scores at ${deployment.endpoint}`
}

async function makeBody(line: ImportLine): Promise<ImportBody> {
  const card = await formatText(line.file)
  const sample = line.sampleFile === null ? null : await formatText(line.sampleFile)
  const splits = line.splitsFile === null ? undefined : await jsonIn(line.splitsFile)
  const grades = line.gradesFile === null ? undefined : await jsonIn(line.gradesFile)
  return {
    ...line.body,
    card,
    ...(sample !== null && { sample }),
    ...(splits !== undefined && { splits }),
    // The check of the specification reports the faults of the grades with all others.
    ...(grades !== undefined && { risk_grades: grades as ImportBody['risk_grades'] & object }),
  }
}

/** The text with its byte order mark, so that its hash is the hash of the file. */
async function formatText(file: string): Promise<string> {
  const bytes = await readBytes(file)
  const notes = new Notes()
  decode(bytes, notes)
  const [fault] = notes.faults.toArray()
  if (fault !== undefined) throw new RefusedError(`${file} ${fault.message}`)
  return bytes.toString('utf8')
}

async function jsonIn(file: string): Promise<unknown> {
  const notes = new Notes()
  const json = readJson(await formatText(file), file, notes)
  const [fault] = notes.faults.toArray()
  if (fault !== undefined) throw new RefusedError(`${fault.path} ${fault.message}`)
  return json
}

async function readBytes(file: string): Promise<Buffer> {
  const bytes = await readFile(file).catch((error: Error) => {
    throw new RefusedError(`${file} can't be read: ${error.message}`)
  })
  if (bytes.length > FILE_BYTES_MAX) {
    throw new RefusedError(`${file} is larger than ${FILE_BYTES_MAX} bytes`)
  }
  return bytes
}

async function write(file: string, text: string): Promise<void> {
  await writeFile(file, text).catch((error: Error) => {
    throw new RefusedError(`${file} can't be written: ${error.message}`)
  })
}

function formatJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
