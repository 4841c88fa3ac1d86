import { readFile, writeFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { Static } from '@sinclair/typebox'
import type { ImportResult } from '../../schemas/import.ts'
import type { Job } from '../../schemas/jobs.ts'
import { Notes } from '../cards/import/build/notes.ts'
import { decode, readJson } from '../cards/import/build/source.ts'
import { type ImportBody, makeImportInput } from '../cards/import/request.ts'
import { certificateFields, importFields } from '../cards/import/responses.ts'
import { type ImportOutcome, runImport } from '../cards/import/run-import.ts'
import { UsageError } from './arguments.ts'
import { type ImportLine, type RegisterLine, readImportLine } from './import-options.ts'
import { importReport } from './import-report.ts'
import { printable } from './print.ts'
import { type CommandContext, DONE, failureReport, REFUSED, type Report } from './program.ts'
import { RemoteError, RemoteService } from './remote-service.ts'

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

/** Longer than the longest import, including the wait for earlier imports. */
const TIMEOUT_MS = 600_000
/** A longer sample goes ahead as a file: proxies and the service bound the body of a request. */
const SAMPLE_BYTES_MAX = 8_000_000
const POLL_MS = 1_000

/**
 * Sends a card to a running service, which imports, checks and registers it.
 *
 * @returns what the import answers
 * @throws RemoteError
 */
async function registerAt(
  { url, environment, description, autoDeploy, acceptsUnreached }: RegisterLine,
  token: string,
  body: ImportBody,
): Promise<unknown> {
  const service = new RemoteService(url, token)
  const register = {
    environment,
    description,
    auto_deploy: autoDeploy,
    accept_unreached: acceptsUnreached,
  }
  const { sample, ...order } = body
  if (sample === undefined || Buffer.byteLength(sample) <= SAMPLE_BYTES_MAX) {
    return service.readJson('/v1/models/import', jsonPost({ ...body, register }))
  }
  const { id, result } = await checkFile(service, `${JSON.stringify(order)}\n`, sample)
  const { development_sample: _, ...checked } = result as Checked
  const [fault] = checked.faults
  if (fault !== undefined) {
    throw new RemoteError(`the service refuses the card: ${fault.path} ${fault.message}`)
  }
  const model = { ...register, spec: checked.spec, check_id: id }
  return { ...checked, registered: await service.readJson('/v1/models/deploy', jsonPost(model)) }
}

/** Sends a sample as a file after its order, and waits for the job that compares it. */
async function checkFile(
  service: RemoteService,
  order: string,
  sample: string,
): Promise<RemoteJob> {
  let job = (await service.readJson('/v1/models/checks', {
    method: 'POST',
    headers: { 'content-type': 'application/x-ndjson' },
    body: new Blob([order, sample]),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })) as RemoteJob
  while (job.finished_at === null) {
    await delay(POLL_MS)
    job = (await service.readPatiently(`/v1/jobs/${job.id}`, POLL_MS)) as RemoteJob
  }
  if (job.status === 'done') return job
  throw new RemoteError(`the check is ${job.status}: ${job.message ?? 'it gives no reason'}`)
}

type RemoteJob = Static<typeof Job>
type Checked = Static<typeof ImportResult> & { readonly development_sample: unknown }

function jsonPost(body: unknown): RequestInit {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }
}
