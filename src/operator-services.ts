import { join } from 'node:path'
import { Passwords } from './auth/passwords.ts'
import { Kept } from './changes/feed.ts'
import { openFeed } from './changes/open.ts'
import { systemClock } from './clock.ts'
import type { Config } from './config.ts'
import { openDataDir } from './data-dir.ts'
import { openDatabase } from './db/client.ts'
import { guardStore } from './db/guard.ts'
import { KeyService } from './keys/service.ts'
import { PostgresKeyStore } from './keys/store.ts'
import { createLog } from './log.ts'
import { MemberService } from './members/service.ts'
import { PostgresMemberStore } from './members/store.ts'
import { ModelService } from './models/service.ts'
import { PostgresModelStore } from './models/store.ts'
import { DATABASE_DEADLINE_MS } from './services.ts'
import { TeamService } from './teams/service.ts'
import { PostgresTeamStore } from './teams/store.ts'

/** The domains that the operator's command line works on. */
export interface OperatorServices {
  readonly teams: TeamService
  readonly members: MemberService
  readonly keys: KeyService
  readonly models: ModelService
  close(): Promise<void>
}

/**
 * Opens what the operator's command line works on. Over PostgreSQL the data directory stays closed, because
 * the service may run on it; the embedded database is the service's or the operator's, one at a time.
 *
 * @throws DataDirInUseError while the service has the embedded database open
 */
export async function createOperatorServices(
  config: Config,
  onCrash: (error: Error) => void,
): Promise<OperatorServices> {
  const dataDir = config.databaseUrl === null ? await openDataDir(config.dataDir) : null
  try {
    const directory = join(dataDir?.path ?? config.dataDir, 'postgres')
    const database = await openDatabase({ url: config.databaseUrl, directory, onCrash })
    const { db, renew } = database
    const guarded = <Store extends object>(store: Store) =>
      guardStore(store, { deadlineMs: DATABASE_DEADLINE_MS, onOverdue: renew })
    const clock = systemClock
    const passwords = new Passwords()
    // What this process remembers ends with it; services that run hear of what it changes.
    const changes = openFeed({
      redisUrl: config.redisUrl,
      listener: new Kept(),
      // What it prints is the answer of a command.
      log: createLog('silent'),
    })
    const members = { store: guarded(new PostgresMemberStore(db)), passwords, clock }
    const keyStore = guarded(new PostgresKeyStore(db))
    return {
      teams: new TeamService({ store: guarded(new PostgresTeamStore(db)), passwords, clock }),
      members: new MemberService({
        ...members,
        onChange: (userId) => changes.tell('user', userId),
      }),
      keys: new KeyService({
        store: keyStore,
        clock,
        ttlMs: config.specCacheTtlMs,
        onChange: (keyHash) => changes.tell('key', keyHash),
      }),
      models: new ModelService({
        store: guarded(new PostgresModelStore(db)),
        clock,
        onChange: (deploymentId) => changes.tell('deployment', deploymentId),
      }),
      close: async () => {
        await changes.close()
        await database.close()
        dataDir?.close()
      },
    }
  } catch (error) {
    dataDir?.close()
    throw error
  }
}
