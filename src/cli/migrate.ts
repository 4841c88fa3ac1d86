import { Command, Option } from 'commander'
import { loadDatabaseConfig } from '../config.ts'
import { openDatabase } from '../platform/db/open.ts'
import { grantRights } from '../platform/db/rights.ts'
import { VERSION } from '../platform/version.ts'
import { cliFailure } from './failures.ts'
import { printable } from './print.ts'
import {
  type CommandContext,
  DONE,
  EXIT_CODES,
  failureReport,
  type Report,
  readOrReport,
} from './program.ts'
/**
 * Declares the command, with its help.
 *
 * @param call how the program is called, such as `scoreline migrate`
 */
export function migrateProgram(call: string): Command {
  return new Command(call)
    .summary('makes the tables of this version, and grants rights on them')
    .description(
      'Brings the tables of the PostgreSQL of DATABASE_URL to this version, as the role that owns ' +
        'them, so that the role of the service need not. Nothing is done where they are there. It ' +
        'reads DATABASE_URL (or DATABASE_URL_FILE) and ACCEPT_LATER_VERSION, and no other variable.',
    )
    .addOption(
      new Option(
        '--grant-to <ROLE>',
        'also gives this role what the service needs to run, at each migration anew',
      ),
    )
    .addHelpText('after', ['', EXIT_CODES].join('\n'))
}

/** Migrates the database of the environment. */
export async function run(
  args: readonly string[],
  { call, env, onCrash }: CommandContext,
): Promise<Report> {
  const read = readOrReport(migrateProgram(call), args)
  if ('code' in read) return read
  const role = read.get('grant-to')
  try {
    const { url, acceptedVersion } = loadDatabaseConfig(env)
    const database = await openDatabase({ url, directory: '', acceptedVersion, onCrash })
    try {
      if (typeof role === 'string') await grantRights(database.db, role)
    } finally {
      await database.close()
    }
    const granted = typeof role === 'string' ? `, and ${printable(role)} has its rights` : ''
    return {
      code: DONE,
      stdout: `The database has the tables of version ${VERSION}${granted}.\n`,
      stderr: '',
    }
  } catch (error) {
    return failureReport(cliFailure(error))
  }
}
