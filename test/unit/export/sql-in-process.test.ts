import { describe } from 'vitest'
import { openDuckdb, openPglite } from '../../support/sql-engines.ts'
import { sqlSuite } from '../../support/sql-suite.ts'

describe('on PGlite', () => sqlSuite(openPglite))
describe('on DuckDB', () => sqlSuite(openDuckdb))
