import type { Sql } from 'postgres'
import { StandbyError, UnsupportedServerError } from './errors.ts'

/** The part of the driver that the checks use. */
type Asking = Pick<Sql, 'unsafe'>

/**
 * Refuses a server that the service can't work on, before anything is written to it.
 *
 * @throws UnsupportedServerError for CockroachDB; StandbyError for a server that takes no writes
 */
export async function checkServer(client: Asking): Promise<void> {
  const [row] = await client.unsafe('select version() as version')
  if (/CockroachDB/i.test(String(row?.['version']))) throw new UnsupportedServerError()
  if (await isStandby(client)) throw new StandbyError()
}

/** Whether the server follows another one. */
export async function isStandby(client: Asking): Promise<boolean> {
  const [row] = await client.unsafe('select pg_is_in_recovery() as is_standby')
  return row?.['is_standby'] === true
}
