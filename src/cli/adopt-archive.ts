import { type Command, Option } from 'commander'
import { AppError } from '../errors.ts'
import { EXIT_CODES } from './report.ts'
import type { CliServices } from './services.ts'

/** Declares `log adopt-archive`. */
export function declareAdopt(program: Command): void {
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
export async function adoptArchive(
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
