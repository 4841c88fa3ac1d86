import { describe } from 'vitest'
import { openDuckdb, openPglite } from '../../../support/suites/sql-engines.ts'
import { sqlReasonSuite } from '../../../support/suites/sql-reason-suite.ts'
import { sqlSuite } from '../../../support/suites/sql-suite.ts'

describe('on PGlite', () => sqlSuite(openPglite))
describe('on DuckDB', () => sqlSuite(openDuckdb))
describe('reasons on PGlite', () => sqlReasonSuite(openPglite))
describe('reasons on DuckDB', () => sqlReasonSuite(openDuckdb))
