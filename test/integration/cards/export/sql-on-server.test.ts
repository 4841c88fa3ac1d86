import { describe, inject } from 'vitest'
import { openPostgres } from '../../../support/suites/sql-engines.ts'
import { sqlReasonSuite } from '../../../support/suites/sql-reason-suite.ts'
import { sqlSuite } from '../../../support/suites/sql-suite.ts'

const server = inject('postgresTemplate')

describe.skipIf(server === null)('on PostgreSQL', () => {
  sqlSuite(() => openPostgres(server?.serverUrl ?? ''))
})
describe.skipIf(server === null)('reasons on PostgreSQL', () => {
  sqlReasonSuite(() => openPostgres(server?.serverUrl ?? ''))
})
