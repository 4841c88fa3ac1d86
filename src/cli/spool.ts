import { join } from 'node:path'
import { Argument, Command, Option } from 'commander'
import { loadConfig } from '../config.ts'
import { AppError } from '../errors.ts'
import { auditRecord, OPERATOR } from '../identity/audit/record.ts'
import { type RecordV4, readHeadV4, readRowsV4, type SetAside } from '../log/index.ts'
import { listSetAside, restoreSetAside } from '../log/tools.ts'
import { readArguments, UsageError } from './arguments.ts'
import { cliFailure } from './failures.ts'
import { table } from './print.ts'
import { type CommandContext, DONE, EXIT_CODES, failureReport, type Report } from './program.ts'
import { type CliServices, createCliServices } from './services.ts'

/** Things that the commands get from their process, or from a test. */
interface SpoolContext {
  /** The way the program is called. */
  readonly call: string
  readonly dataDir: string
  /** Opens the database for `restore` alone: the others work while it is away. */
  open(): Promise<Pick<CliServices, 'scoreLog' | 'logReader' | 'reading' | 'close'>>
}

export async function run(
  args: readonly string[],
  { call, env, onCrash }: CommandContext,
): Promise<Report> {
  return makeReport(args, call, () => {
    const config = loadConfig(env)
    return { call, dataDir: config.dataDir, open: () => createCliServices(config, onCrash) }
  })
}

/** Runs a command line. The report holds any failure; nothing is thrown. */
async function makeReport(
  args: readonly string[],
  call: string,
  openContext: () => SpoolContext,
): Promise<Report> {
  try {
    const request = readArguments(spoolProgram(call), args)
    if (request.kind === 'help') return { code: DONE, stdout: request.text, stderr: '' }
    const context = openContext()
    const directory = join(context.dataDir, 'spool', 'rejected')
    const { values } = request
    const command = request.command.name()
    const isJson = values.get('json') === true
    if (command === 'list') return report(listText(listSetAside(directory), isJson))
    const names = namesIn(values)
    if (command === 'show') {
      const shown = find(directory, names).map(readFields)
      return report(`${JSON.stringify(shown.length === 1 ? shown[0] : shown, null, 2)}\n`)
    }
    return await restore(find(directory, names), context)
  } catch (error) {
    return failureReport(error instanceof UsageError ? error : cliFailure(error))
  }
}

/**
 * Declares the commands, with their help.
 *
 * @param call how the program is called, such as `scoreline spool`
 */
export function spoolProgram(call: string): Command {
  const program = new Command(call)
    .summary('lists and shows records that were set aside, and puts them back')
    .description(
      'Works on the files below DATA_DIR/spool/rejected: records of answered scores that are not ' +
        'in the log, because they could not be stored or read. The service can keep running; the ' +
        'embedded database must be stopped for restore.',
    )
  program
    .command('list')
    .summary('lists the files, with the reason of each')
    .description(
      'Lists the files that wait for somebody, with the reason of each and whether this version ' +
        'can put it back. It needs no database.',
    )
    .addOption(new Option('--json', 'prints JSON, with the fields of show'))
    .addHelpText('after', ['', EXIT_CODES].join('\n'))
  program
    .command('show')
    .summary('prints what is in a file')
    .description(
      'Prints what is in files as JSON: requests, references and scores, as far as they can be ' +
        'read, and the ids of requests that damaged bytes name. It needs no database.',
    )
    .addArgument(new Argument('<FILES...>', 'names of files, as list prints them'))
    .addHelpText('after', ['', EXIT_CODES].join('\n'))
  program
    .command('restore')
    .summary('puts the records of files back into the log')
    .description(
      'Stores the records of files in the log of the database, exactly once, however often it is ' +
        'called. A file whose records are stored gets the ending .restored and counts no more. ' +
        "The team's audit log records it with the actor operator. A record that the database " +
        'refuses again stays where it is.',
    )
    .addArgument(new Argument('<FILES...>', 'names of files, as list prints them'))
    .addHelpText('after', ['', EXIT_CODES].join('\n'))
  return program
}

function report(stdout: string): Report {
  return { code: DONE, stdout, stderr: '' }
}

function namesIn(values: ReadonlyMap<string, unknown>): readonly string[] {
  const names = values.get('FILES')
  return Array.isArray(names) ? names.map(String) : []
}

/** @throws AppError `not_found` that names the file */
function find(directory: string, names: readonly string[]): SetAside[] {
  const listed = new Map(listSetAside(directory).map((one) => [one.file, one]))
  return names.map((name) => {
    const found = listed.get(name)
    if (found !== undefined) return found
    throw new AppError('invalid_request', `${directory} has no file ${name}: see spool list`)
  })
}

function listText(files: readonly SetAside[], isJson: boolean): string {
  if (isJson) return `${JSON.stringify(files.map(readFields))}\n`
  if (files.length === 0) return 'No record is set aside.\n'
  const rows = files.map((file) => [
    file.file,
    file.setAsideAt.toISOString(),
    `${file.payload.length}`,
    file.reason,
    file.fault === null ? 'yes' : `no: ${file.fault}`,
  ])
  return `${table(['FILE', 'SET ASIDE', 'BYTES', 'REASON', 'CAN BE RESTORED'], rows)}\n`
}

function readFields({ file, setAsideAt, reason, payload, records, fault, requestIds }: SetAside) {
  return {
    file,
    set_aside_at: setAsideAt.toISOString(),
    reason,
    bytes: payload.length,
    can_be_restored: fault === null,
    ...(fault !== null && { fault }),
    request_ids: requestIds,
    records: records.map(recordFields),
  }
}

function recordFields(record: RecordV4) {
  const head = readHeadV4(record.headBytes)
  return {
    request_id: record.requestId,
    scored_at: new Date(record.scoredAtMs).toISOString(),
    team_id: head.teamId,
    deployment_id: head.deploymentId,
    key_id: record.keyId,
    reference: record.reference,
    models: head.models.map(({ modelId }) => modelId),
    applicants: listApplicants(record),
  }
}

/** The id of each applicant, and a score of each model. */
function listApplicants(record: RecordV4) {
  return readRowsV4(record, readHeadV4(record.headBytes)).map(({ id, results }) => ({
    id,
    scores: results.map((result) => result?.score ?? null),
  }))
}

/** Puts files back, one after the other; what was put back before a failure stays. */
async function restore(files: readonly SetAside[], { open }: SpoolContext): Promise<Report> {
  const unreadable = files.find(({ fault }) => fault !== null)
  if (unreadable !== undefined) {
    const { file, fault } = unreadable
    const message = `${file} can't be put back by this version: ${fault}. Nothing was stored`
    throw new AppError('invalid_request', message)
  }
  const services = await open()
  const lines: string[] = []
  try {
    for (const file of files) {
      const stored = await restoreSetAside(file, services.scoreLog, services.logReader)
      await record(file, services)
      const had = file.records.length - stored
      const done = [
        ...(stored > 0 ? [`put back ${counted(stored)}`] : []),
        ...(had > 0 ? [`the log had ${counted(had)}`] : []),
      ]
      lines.push(`${file.file}: ${done.join(', ')}.\n`)
    }
    return report(lines.join(''))
  } catch (error) {
    return { ...failureReport(cliFailure(error)), stdout: lines.join('') }
  } finally {
    await services.close()
  }
}

function counted(records: number): string {
  return `${records} ${records === 1 ? 'record' : 'records'}`
}

/** Leaves a line in the audit log of each team whose scores were put back. */
async function record(
  { file, records }: SetAside,
  { reading }: Pick<CliServices, 'reading'>,
): Promise<void> {
  const requests = Map.groupBy(records, ({ headBytes }) => readHeadV4(headBytes).teamId)
  for (const [teamId, ofTeam] of requests) {
    const after = { requests: ofTeam.map(({ requestId }) => requestId) }
    const change = { action: 'log.restore', subject: file, after } as const
    await reading.record(auditRecord({ userId: OPERATOR, teamId }, change, Date.now()))
  }
}
