import { createReadStream, createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { extname } from 'node:path'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { Static } from '@sinclair/typebox'
import { Command, Option } from 'commander'
import { BATCH_FORMATS, type Batch } from '../../schemas/batches.ts'
import { ChoiceOption, readArguments, UsageError, urlOption } from './arguments.ts'
import { printable, sentence, table } from './print.ts'
import {
  type CommandContext,
  DONE,
  EXIT_CODES,
  failureReport,
  REFUSED,
  type Report,
} from './program.ts'
import { RemoteError, RemoteService } from './remote-service.ts'

/** Things that the commands get from their process, or from a test. */
export interface BatchContext {
  /** The way the program is called. */
  readonly call: string
  /** Key with the scope `score`, or access token. */
  readonly token: string | undefined
  readonly stdout: Writable
  /** Receives the progress, which one line shows again and again; null: nobody watches. */
  readonly watcher: Writable | null
  /** Interval at which a running batch is looked at. */
  readonly pollMs: number
}

const POLL_MS = 1_000
const ENDINGS: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.ndjson': 'application/x-ndjson',
  '.jsonl': 'application/x-ndjson',
  '.parquet': 'application/vnd.apache.parquet',
}
const TYPES: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
  parquet: 'application/vnd.apache.parquet',
}

export function run(args: readonly string[], { call, env }: CommandContext): Promise<Report> {
  return makeReport(args, {
    call,
    token: env['SCORELINE_TOKEN'],
    stdout: process.stdout,
    watcher: process.stderr.isTTY ? process.stderr : null,
    pollMs: POLL_MS,
  })
}

/** Runs a command line. The report holds an expected failure; others are thrown. */
export async function makeReport(args: readonly string[], context: BatchContext): Promise<Report> {
  try {
    const request = readArguments(batchProgram(context.call), args)
    if (request.kind === 'help') return { code: DONE, stdout: request.text, stderr: '' }
    const { token } = context
    if (!token) {
      throw new RemoteError(
        'SCORELINE_TOKEN must hold an API key with the scope score, or an access token',
      )
    }
    const text = (name: string) => request.values.get(name) as string | undefined
    const client = new BatchClient(new RemoteService(text('url') ?? '', token))
    const name = request.command.name()
    if (name === 'run') return await scoreFile(client, request.values, context)
    return { code: DONE, stdout: await formatText(name, client, text, context), stderr: '' }
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof RemoteError)) throw error
    return failureReport(error)
  }
}

/**
 * Declares the commands, with their help.
 *
 * @param call how the program is called, such as `scoreline batch`
 */
export function batchProgram(call: string): Command {
  const program = new Command(call)
    .summary('scores files of applicants')
    .description(
      'Scores files of applicants at a running service. SCORELINE_TOKEN holds an API key with the ' +
        'scope score, or an access token of an owner, admin or lead modeler.',
    )
  const command = (name: string, summary: string) =>
    program
      .command(name)
      .summary(summary)
      .description(`${sentence(summary)}`)
      .addOption(urlOption())
  const scoring = command(
    'run',
    'sends a file, waits for its end, and writes the results',
  ).argument('FILE', 'the applicants, as CSV, NDJSON or Parquet')
  for (const option of RUN_OPTIONS) scoring.addOption(option())
  scoring.addHelpText(
    'after',
    [
      '',
      'Example:',
      `  ${call} run portfolio.parquet --deployment dep_… --url https://scoring.example \\`,
      '    --id-field application_no --out scores.parquet --errors errors.ndjson',
      '',
      EXIT_CODES,
    ].join('\n'),
  )
  command('list', 'lists the batches of the team, newest first').addOption(jsonOption())
  command('show', 'shows a batch').argument('ID', 'id of the batch').addOption(jsonOption())
  command('cancel', 'ends a batch that waits or runs').argument('ID', 'id of the batch')
  for (const what of ['results', 'errors']) {
    command(what, `writes the ${what} of a batch`)
      .argument('ID', 'id of the batch')
      .addOption(new Option('--out <FILE>', 'writes to this file instead of standard output'))
  }
  return program
}

const jsonOption = () => new Option('--json', 'prints JSON with the fields of the REST API')

const RUN_OPTIONS: ReadonlyArray<() => Option> = [
  () => new Option('--deployment <SLUG>', 'slug of the deployment').makeOptionMandatory(),
  () => new ChoiceOption('--format <FORMAT>', 'that of the name of the file; or', BATCH_FORMATS),
  () => new ChoiceOption('--results <FORMAT>', 'that of the file; or', BATCH_FORMATS),
  () => new Option('--id-field <NAME>', 'column with the reference of an applicant; id by default'),
  () => new Option('--routing-key <KEY>', 'draws the model of a live split'),
  () => new Option('--strict', 'puts applicants with missing or unknown values apart'),
  () => new Option('--contributions', 'adds the points of each feature to each result'),
  () => new Option('--out <FILE>', 'writes the results to this file instead of standard output'),
  () => new Option('--errors <FILE>', 'writes what was not scored to this file'),
  () => new Option('--no-wait', 'sends the file and prints the id of the batch'),
]

async function scoreFile(
  client: BatchClient,
  values: ReadonlyMap<string, unknown>,
  context: BatchContext,
): Promise<Report> {
  // Each declaration fixes the type of its value.
  const text = (name: string) => values.get(name) as string | undefined
  const flag = (name: string) => (values.get(name) === true ? 'true' : undefined)
  const file = text('FILE') ?? ''
  const format = text('format')
  const type = format === undefined ? ENDINGS[extname(file).toLowerCase()] : TYPES[format]
  if (type === undefined) {
    throw new RemoteError(`the name of ${file} says no format: give --format`)
  }
  const started = await client.upload({
    file,
    type,
    options: {
      deployment: text('deployment'),
      results: text('results'),
      id_field: text('id-field'),
      routing_key: text('routing-key'),
      strict_mode: flag('strict'),
      include_contributions: flag('contributions'),
    },
  })
  // Commander keeps `--no-wait` as a false `wait`, which `readArguments` turns around.
  if (values.get('no-wait') === true) return { code: DONE, stdout: `${started.id}\n`, stderr: '' }
  const ended = await untilEnded(client, started, context)
  const errorFile = text('errors')
  if (errorFile !== undefined) {
    await client.download(ended.id, 'errors', { out: errorFile, stdout: context.stdout })
  }
  await client.download(ended.id, 'results', { out: text('out') ?? null, stdout: context.stdout })
  const code = ended.status === 'done' ? DONE : REFUSED
  return { code, stdout: '', stderr: `${printable(endLine(ended))}\n` }
}

async function untilEnded(
  client: BatchClient,
  started: RemoteBatch,
  { watcher, pollMs }: BatchContext,
): Promise<RemoteBatch> {
  let now = started
  for (;;) {
    // From the start of the line, over what stands there.
    watcher?.write(`\r\u001b[K${progressLine(now)}`)
    if (now.finished_at !== null) break
    await delay(pollMs)
    now = await client.watch(now.id, pollMs)
  }
  watcher?.write('\n')
  return now
}

async function formatText(
  name: string,
  client: BatchClient,
  text: (name: string) => string | undefined,
  { stdout }: BatchContext,
): Promise<string> {
  const id = text('ID') ?? ''
  if (name === 'list') {
    const batches = await client.list()
    return isJson(text) ? formatJson({ batches }) : `${toList(batches)}\n`
  }
  if (name === 'results' || name === 'errors') {
    await client.download(id, name, { out: text('out') ?? null, stdout })
    return ''
  }
  const batch = name === 'cancel' ? await client.cancel(id) : await client.get(id)
  return isJson(text) ? formatJson(batch) : `${printable(endLine(batch))}\n`
}

function isJson(text: (name: string) => unknown): boolean {
  return text('json') === true
}

function formatJson(value: object): string {
  return `${JSON.stringify(value)}\n`
}

function toList(batches: readonly RemoteBatch[]): string {
  const rows = batches.map(({ id, status, deployment_id, counts, created_at }) => [
    id,
    status,
    deployment_id,
    String(counts.scored),
    String(counts.errors),
    created_at,
  ])
  return table(['ID', 'STATUS', 'DEPLOYMENT', 'SCORED', 'ERRORS', 'CREATED'], rows)
}

const BAR_CHARS = 30

/**
 * Returns how far a batch is, on one line: a bar, the applicants, and how many of them are errors.
 */
export function progressLine({ status, progress, counts }: RemoteBatch): string {
  const { done, total } = progress
  const share = status === 'done' ? 1 : total === 0 ? 0 : Math.min(1, done / total)
  const full = Math.floor(BAR_CHARS * share)
  const bar = '#'.repeat(full) + '.'.repeat(BAR_CHARS - full)
  const percent = `${Math.floor(100 * share)}`.padStart(3)
  const errors = counts.errors === 0 ? '' : `, ${numberText(counts.errors)} with errors`
  return `[${bar}] ${percent} %  ${numberText(done)} applicants${errors}  ${status}`
}

/** Tells how a batch ended. */
export function endLine({ id, status, counts, message, warnings = [] }: RemoteBatch): string {
  const facts = `${numberText(counts.scored)} scored, ${numberText(counts.errors)} with errors`
  const reason = message === undefined ? '' : `: ${message}`
  const end = `Batch ${id} is ${status}: ${facts}, ${numberText(counts.warned)} with warnings${reason}.`
  return [end, ...warnings.map((one) => `Warning: ${one.path}: ${one.message}.`)].join('\n')
}

function numberText(value: number): string {
  return value.toLocaleString('en-US')
}

export type RemoteBatch = Static<typeof Batch>

interface Order {
  readonly file: string
  readonly type: string
  /** Values of the query; undefined ones are left out. */
  readonly options: Readonly<Record<string, string | undefined>>
}

/** Batches of a running service, through its API. */
class BatchClient {
  private readonly service: RemoteService

  constructor(service: RemoteService) {
    this.service = service
  }

  async upload({ file, type, options }: Order): Promise<RemoteBatch> {
    const given = Object.entries(options).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] as const],
    )
    const query = new URLSearchParams(given.map(([name, value]) => [name, value]))
    const body = Readable.toWeb(createReadStream(file))
    const batch = await this.service.readJson(`/v1/batches/upload?${query}`, {
      method: 'POST',
      headers: { 'content-type': type },
      body: body as unknown as ReadableStream,
      duplex: 'half',
    })
    return batch as RemoteBatch
  }

  async get(id: string): Promise<RemoteBatch> {
    return (await this.service.readJson(formatPath(id))) as RemoteBatch
  }

  /** Reads a batch that runs, also after the service was away. */
  async watch(id: string, pollMs: number): Promise<RemoteBatch> {
    return (await this.service.readPatiently(formatPath(id), pollMs)) as RemoteBatch
  }

  async list(): Promise<readonly RemoteBatch[]> {
    const { batches } = (await this.service.readJson('/v1/batches')) as { batches: RemoteBatch[] }
    return batches
  }

  async cancel(id: string): Promise<RemoteBatch> {
    return (await this.service.readJson(`${formatPath(id)}/cancel`, {
      method: 'POST',
    })) as RemoteBatch
  }

  /**
   * Writes results or errors to a file, which appears when it is complete, or to a stream.
   *
   * @param out name of the file; null: the stream
   */
  async download(
    id: string,
    what: 'results' | 'errors',
    { out, stdout }: { readonly out: string | null; readonly stdout: Writable },
  ): Promise<void> {
    const response = await this.service.send(`${formatPath(id)}/${what}`)
    const { body } = response
    const chunks = body === null ? Readable.from([]) : Readable.fromWeb(body as never)
    if (out === null) {
      await pipeline(chunks, stdout, { end: false })
      return
    }
    const part = `${out}.part`
    try {
      await pipeline(chunks, createWriteStream(part))
      await rename(part, out)
    } catch (cause) {
      await rm(part, { force: true })
      throw new RemoteError(`${out} could not be written to its end`, { cause })
    }
  }
}

function formatPath(id: string): string {
  return `/v1/batches/${encodeURIComponent(id)}`
}
