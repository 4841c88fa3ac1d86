/**
 * What is compared with: Fastify as it is, with the schemas of the score routes, which reads a body
 * and answers what it was given; no caller, no quota, no engine, no log. `fork` it with the texts
 * of two answers, as
 * `BARE_SINGLE` and `BARE_BATCH`, in the environment, and it tells where it answers.
 */
import { readFileSync } from 'node:fs'
import Fastify from 'fastify'
import {
  ScoreBatchRequest,
  ScoreBatchResult,
  ScoreRequest,
  ScoreResult,
} from '../../schemas/scoring.ts'
import { serveState } from './server-state.ts'

const answerIn = (name: string): unknown =>
  JSON.parse(readFileSync(process.env[name] ?? '', 'utf8'))
const single = answerIn('BARE_SINGLE_FILE')
const batch = answerIn('BARE_BATCH_FILE')
const batchText = JSON.stringify(batch)

const app = Fastify({ bodyLimit: 16 * 1024 * 1024 })
app.post(
  '/single',
  { schema: { body: ScoreRequest, response: { 200: ScoreResult } } },
  () => single,
)
app.post(
  '/batch',
  { schema: { body: ScoreBatchRequest, response: { 200: ScoreBatchResult } } },
  () => batch,
)
// Without the schemas: what `JSON.stringify` takes for the same.
app.post('/batch/stringify', (_request, reply) => {
  reply.type('application/json')
  return batchText.length === 0 ? '' : JSON.stringify(batch)
})
serveState(await app.listen({ host: '127.0.0.1', port: 0 }))
