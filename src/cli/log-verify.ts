import { readFile } from 'node:fs/promises'
import { type Command, Option } from 'commander'
import { AppError } from '../errors.ts'
import {
  formatFactsOrigin,
  formatOrigin,
  SPAN_MS,
  spanStart,
  type TreeState,
  type VerifyReport,
} from '../log/index.ts'
import { verifyLog } from '../log/tools.ts'
import { EXIT_CODES } from './program.ts'
import type { CliServices } from './services.ts'

export function declareVerify(program: Command, team: Option): void {
  program
    .command('verify')
    .summary('checks that the records of a team are as they were logged')
    .description(
      'Recomputes the Merkle tree of a team from the records in the database and the archive, and ' +
        'names every drained block that was changed, lost or added. With a checkpoint that was ' +
        'kept elsewhere it also shows that nobody changed the tree together with the records. Of ' +
        'an archived file it reads the blocks alone: the service compares the whole file with its ' +
        'SHA-256 every SCORE_LOG_ARCHIVE_CHECK_DAYS. It changes nothing. It reads the PostgreSQL ' +
        'of DATABASE_URL, where the service can keep running, or the embedded database under ' +
        'DATA_DIR, where the service must be stopped first.',
    )
    .addOption(team)
    .addOption(
      new Option(
        '--checkpoint <FILE>',
        'an answer of GET /v1/log/checkpoint that was kept outside of the service, or its ' +
          'checkpoint alone',
      ),
    )
    .addOption(new Option('--json', 'prints JSON'))
    .addHelpText('after', ['', EXIT_CODES].join('\n'))
}

/** Runs `log verify`. @returns what to print, and whether all is right */
export async function verifyTeam(
  { teams, verification }: CliServices,
  values: ReadonlyMap<string, unknown>,
): Promise<{ readonly text: string; readonly isRight: boolean }> {
  const teamId = String(values.get('team'))
  await teams.require(teamId)
  const file = values.get('checkpoint')
  const kept =
    file === undefined
      ? { checkpoint: null, facts: null }
      : await readKept(verification.signer, String(file), teamId)
  const today = spanStart('day', verification.clock.epochMs())
  const report = await verifyLog({
    ...verification,
    teamId,
    ...kept,
    keptFromMs: today - (verification.retentionDays - 1) * SPAN_MS.day,
  })
  const isRight = report.findings.length === 0
  const text =
    values.get('json') === true ? formatJson(report) : formatText(report, kept.checkpoint)
  return { text, isRight }
}

interface Signer {
  read(note: string): TreeState | null
}

/** States that were kept elsewhere. */
interface KeptStates {
  readonly checkpoint: TreeState
  /** Null for a checkpoint alone. */
  readonly facts: TreeState | null
}

async function readKept(signer: Signer, file: string, teamId: string): Promise<KeptStates> {
  const text = await readFile(file, 'utf8').catch((cause: Error) => {
    throw new AppError('invalid_request', `${file} can't be read: ${cause.message}`, { cause })
  })
  const { checkpoint, facts } = formatNotes(text)
  return {
    checkpoint: signedState(signer, checkpoint, { file, origin: formatOrigin(teamId) }),
    facts:
      facts === null
        ? null
        : signedState(signer, facts, { file, origin: formatFactsOrigin(teamId) }),
  }
}

/** The notes of an answer, or of a file with the checkpoint alone. */
function formatNotes(text: string): { readonly checkpoint: string; readonly facts: string | null } {
  if (!text.trimStart().startsWith('{')) return { checkpoint: text, facts: null }
  try {
    const { checkpoint, facts }: Record<string, unknown> = JSON.parse(text)
    return {
      checkpoint: typeof checkpoint === 'string' ? checkpoint : '',
      facts: typeof facts === 'string' ? facts : null,
    }
  } catch {
    return { checkpoint: '', facts: null }
  }
}

function signedState(
  signer: Signer,
  note: string,
  { file, origin }: { readonly file: string; readonly origin: string },
): TreeState {
  const state = signer.read(note)
  if (state === null) {
    throw new AppError('invalid_request', `${file} is not a checkpoint that this service signed`)
  }
  if (state.origin !== origin) {
    throw new AppError('invalid_request', `${file} is a checkpoint of another team`)
  }
  return state
}

function formatText(report: VerifyReport, checkpoint: TreeState | null): string {
  const { blocks, applicants, expiredBlocks, root, findings } = report
  const lines = findings.map(({ message }) => `${message}.`)
  const against = checkpoint === null ? '' : `, and began as the checkpoint of ${checkpoint.size}`
  lines.push(
    `${blocks} blocks, ${applicants} applicants, ${expiredBlocks} blocks beyond the retention.`,
    findings.length === 0
      ? `The records of the log are as they were logged${against}. Root: ${root.toString('hex')}`
      : `The records of the log are NOT as they were logged: ${findings.length} findings.`,
  )
  return `${lines.join('\n')}\n`
}

function formatJson(report: VerifyReport): string {
  return `${JSON.stringify({
    blocks: report.blocks,
    applicants: report.applicants,
    expired_blocks: report.expiredBlocks,
    root: report.root.toString('hex'),
    findings: report.findings,
  })}\n`
}
