/**
 * A process that rolls up and merges the blocks of a database, as a replica does once a minute, and
 * says `round` after each round. Its argument is the database as JSON.
 */
import { setImmediate } from 'node:timers/promises'
import { BlockTables } from '../../../src/log/blocks/upkeep/block-tables.ts'
import { makeModels } from '../../../src/log/reading/stored-models.ts'
import { openTestDatabase } from '../start/seeded-database.ts'

const { db } = await openTestDatabase(JSON.parse(process.argv[2] ?? ''))
const tables = new BlockTables(db, makeModels(db))
process.stdout.write('opened\n')
for (;;) {
  const rolled = await tables.rollUp()
  const merged = await tables.merge(Date.now())
  await tables.dropSuperseded(Date.now())
  process.stdout.write(rolled + merged > 0 ? 'worked\n' : 'idle\n')
  await setImmediate()
}
