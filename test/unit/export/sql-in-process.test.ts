import { describe } from 'vitest'
import { openDuckdb, openPglite } from '../../support/suites/sql-engines.ts'
import { sqlSuite } from '../../support/suites/sql-suite.ts'

describe('on PGlite', () => sqlSuite(openPglite))
describe('on DuckDB', () => sqlSuite(openDuckdb))
