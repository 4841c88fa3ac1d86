import { describe, inject } from 'vitest'
import { openPostgres } from '../../support/sql-engines.ts'
import { sqlSuite } from '../../support/sql-suite.ts'

const server = inject('postgresTemplate')

describe.skipIf(server === null)('on PostgreSQL', () =>
  sqlSuite(() => openPostgres(server?.serverUrl ?? '')),
)
