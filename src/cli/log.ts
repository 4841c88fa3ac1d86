import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Command, Option } from 'commander'
import { LOG_EXPORT_FORMATS } from '../../schemas/scores.ts'
import { loadConfig } from '../config.ts'
import { AppError, deploymentNotFound } from '../errors.ts'
import { OPERATOR } from '../identity/audit/record.ts'
import { erasureFields, type LogExportQuery } from '../log/index.ts'
import { ChoiceOption, readArguments, UsageError, ValueError } from './arguments.ts'
import { cliFailure } from './failures.ts'
import { declareVerify, verifyTeam } from './log-verify.ts'
import {
  type CommandContext,
  DONE,
  EXIT_CODES,
  failureReport,
  REFUSED,
  type Report,
} from './program.ts'
import { type CliServices, createCliServices } from './services.ts'

/** Things that the commands get from their process, or from a test. */
interface LogContext {
  /** The way the program is called. */
  readonly call: string
  /** Opens the services; the command closes them. */
  open(): Promise<CliServices>
  readonly stdout: Writable
}

export function run(
  args: readonly string[],
  { call, env, onCrash }: CommandContext,
): Promise<Report> {
  const open = () => createCliServices(loadConfig(env), onCrash)
  return makeReport(args, { call, open, stdout: process.stdout })
}

/** Runs a command line. The report holds any failure; nothing is thrown. */
export async function makeReport(
  args: readonly string[],
  { call, open, stdout }: LogContext,
): Promise<Report> {
  try {
    const request = readArguments(logProgram(call), args)
    if (request.kind === 'help') return { code: DONE, stdout: request.text, stderr: '' }
    const command = request.command.name()
    const isErasure = command === 'erase'
    const services = await open()
    try {
      if (command === 'verify') {
        const { text, isRight } = await verifyTeam(services, request.values)
        return { code: isRight ? DONE : REFUSED, stdout: text, stderr: '' }
      }
      if (command === 'adopt-archive') {
        return { code: DONE, stdout: await adoptArchive(services, request.values), stderr: '' }
      }
      if (!isErasure) await exportLog(services, request.values, stdout)
      const erased = isErasure ? await eraseReference(services, request.values) : ''
      return { code: DONE, stdout: erased, stderr: '' }
    } finally {
      await services.close()
    }
  } catch (error) {
    return failureReport(error instanceof UsageError ? error : cliFailure(error))
  }
}

/**
 * Declares the commands, with their help.
 *
 * @param call how the program is called, such as `scoreline log`
 */
export function logProgram(call: string): Command {
  const program = new Command(call)
    .summary('exports and verifies the score log, erases references, and adopts its archive')
    .description('Works on the score log in the database that the environment variables name.')
  declareErase(program)
  declareVerify(program, teamOption())
  declareAdopt(program)
  const command = program
    .command('export')
    .summary('writes the scores of a team as NDJSON, CSV or Parquet')
    .description(
      'Writes the scores of a team: one row for each applicant and model, with the columns that ' +
        'docs/evidence.md lists. It reads the PostgreSQL of DATABASE_URL, where the service ' +
        'can keep running, or the embedded database under DATA_DIR, where the service must be ' +
        "stopped first. The team's audit log records the export with the actor operator.",
    )
  for (const option of OPTIONS) command.addOption(option)
  command.addHelpText(
    'after',
    [
      '',
      'Example:',
      `  ${call} export --team team_… --from 2026-11-01T00:00:00Z --to 2026-12-01T00:00:00Z \\`,
      '    --format parquet --out november.parquet',
      '',
      EXIT_CODES,
    ].join('\n'),
  )
  return program
}

const MOMENT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}.*(Z|[+-]\d{2}:\d{2})$/i

/** Without its zone a time would be that of the machine. */
function momentOption(name: string, about: string): Option {
  return new Option(`${name} <TIME>`, about).argParser((text) => {
    if (MOMENT.test(text) && !Number.isNaN(Date.parse(text))) return text
    throw new ValueError(`${name} must be a time with its zone, such as 2026-11-01T00:00:00Z`)
  })
}

const teamOption = () =>
  new Option(
    '--team <TEAM_ID>',
    'id of the team, as `admin team list` shows it',
  ).makeOptionMandatory()

const OPTIONS = [
  teamOption(),
  new Option('--deployment <SLUG>', 'only scores of this deployment'),
  momentOption('--from', 'only scores from this time on, such as 2026-11-01T00:00:00Z'),
  momentOption('--to', 'only scores before this time'),
  new ChoiceOption('--format <FORMAT>', 'ndjson by default; one of', LOG_EXPORT_FORMATS),
  new Option(
    '--out <FILE>',
    'writes to this file instead of standard output; it appears when it is complete',
  ),
]

function declareErase(program: Command): void {
  program
    .command('erase')
    .summary('takes a reference out of the score log of a team')
    .description(
      'Takes a reference out of the score log of a team: the X-Reference-Id of single requests, ' +
        'and the id of records of batches. Scores, bins and statistics stay. Requests that wait ' +
        'in a spool lose it when they are drained. It works on the PostgreSQL of DATABASE_URL, ' +
        'where the service can keep running, or on the embedded database under DATA_DIR, where ' +
        "the service must be stopped first. The team's audit log records the erasure with a hash " +
        'of the reference.',
    )
    .addOption(teamOption())
    .addOption(
      new Option(
        '--reference <REFERENCE>',
        'the reference; a number as text',
      ).makeOptionMandatory(),
    )
    .addOption(new Option('--json', 'prints JSON with the fields of the REST API'))
    .addHelpText('after', ['', EXIT_CODES].join('\n'))
}

async function eraseReference(
  { teams, logErasures }: CliServices,
  values: ReadonlyMap<string, unknown>,
): Promise<string> {
  const teamId = String(values.get('team'))
  const reference = String(values.get('reference'))
  if (reference === '') throw new AppError('invalid_request', 'the reference is empty')
  await teams.require(teamId)
  const erasure = await logErasures.erase({ userId: OPERATOR, teamId }, reference)
  if (values.get('json') === true) return `${JSON.stringify(erasureFields(erasure))}\n`
  const { places, requests, referenceSha256 } = erasure
  return (
    `Erased the reference in ${places} ${places === 1 ? 'place' : 'places'} of ` +
    `${requests} ${requests === 1 ? 'request' : 'requests'}; its hash is ${referenceSha256}.\n`
  )
}

async function exportLog(
  { teams, logExports, reading }: CliServices,
  values: ReadonlyMap<string, unknown>,
  stdout: Writable,
): Promise<void> {
  // Each declaration fixes the type of its value.
  const value = <Value>(option: string) => values.get(option) as Value | undefined
  const teamId = value<string>('team') ?? ''
  await teams.require(teamId)
  const deployment = value<string>('deployment')
  if (deployment !== undefined) {
    const own = await reading.findEnvironments(teamId, [deployment])
    if (!own.has(deployment)) throw deploymentNotFound()
  }
  const query: LogExportQuery = {
    deployment,
    from: value('from'),
    to: value('to'),
    format: value('format'),
  }
  const chunks = logExports.export({ userId: OPERATOR, teamId }, query)
  const out = value<string>('out')
  if (out === undefined) await pipeline(Readable.from(chunks), stdout, { end: false })
  else await writeFile(out, chunks)
}

/** @throws AppError `invalid_request` naming the file */
async function writeFile(file: string, chunks: AsyncIterable<string | Uint8Array>): Promise<void> {
  const part = `${file}.part`
  try {
    await pipeline(Readable.from(chunks), createWriteStream(part))
    await rename(part, file)
  } catch (cause) {
    await rm(part, { force: true })
    if (!(cause instanceof Error) || !('syscall' in cause)) throw cause
    throw new AppError('invalid_request', `${file} can't be written: ${cause.message}`, { cause })
  }
}

/** Declares `log adopt-archive`. */
function declareAdopt(program: Command): void {
  program
    .command('adopt-archive')
    .summary('gives the archive of the score log to a database that was restored')
    .description(
      'Lets this database go on with the archive of SCORE_LOG_ARCHIVE, after it was restored from ' +
        'a backup: the archive refuses it, because the database that it is a copy of may still ' +
        'work there. That one can only read the archive from then on. The audit log of each ' +
        'team records it with the actor operator. Without the option nothing is changed.',
    )
    .addOption(
      new Option(
        '--others-are-stopped',
        'confirms that no other copy of the database works on the archive',
      ),
    )
    .addHelpText('after', ['', EXIT_CODES].join('\n'))
}

/**
 * Runs `log adopt-archive`.
 *
 * @returns what to print
 * @throws AppError `invalid_request` without an archive, or without the confirmation
 */
async function adoptArchive(
  { teams, archiveAdoption }: Pick<CliServices, 'teams' | 'archiveAdoption'>,
  values: ReadonlyMap<string, unknown>,
): Promise<string> {
  if (archiveAdoption === null) {
    throw new AppError('invalid_request', 'there is no archive: set SCORE_LOG_ARCHIVE')
  }
  const teamIds = (await teams.list()).map(({ id }) => id).sort()
  const isConfirmed = values.get('others-are-stopped') === true
  return (await archiveAdoption.adopt(teamIds, isConfirmed))
    ? 'The archive is of this database now. Other copies of it can only read it.\n'
    : 'The archive is of this database already: nothing was changed.\n'
}
