import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { errorResponses } from '../../../schemas/errors.ts'
import {
  Checkpoint,
  Consistency,
  ConsistencyQuery,
  ProofQuery,
  ScoreProof,
  VerifierKey,
} from '../../../schemas/proof.ts'
import { MEMBER_OR_READING_KEY } from '../../http/access/caller.ts'
import { provenCaller } from '../../http/access/request-caller.ts'
import { defineRoute } from '../../http/define-route.ts'
import type { ProofService } from './service.ts'

const RequestParams = Type.Object({ request_id: Type.String() })
const NoQuery = Type.Object({}, { additionalProperties: false })
const formatHex = (hash: Buffer) => hash.toString('hex')

/** Routes that prove what the score log holds. */
export const proofRoutes: FastifyPluginAsyncTypebox<{ readonly proofs: ProofService }> = async (
  app,
  { proofs },
) => {
  app.get(
    '/v1/scores/:request_id/proof',
    defineRoute('scores.proof', MEMBER_OR_READING_KEY, {
      params: RequestParams,
      querystring: ProofQuery,
      response: { 200: ScoreProof, ...errorResponses(400, 401, 404) },
    }),
    async (request) => {
      const { params, query } = request
      const proof = await proofs.prove(provenCaller(request), params.request_id, query.record)
      const { leaf, sequence, index, size, path } = proof.block
      return {
        leaf: Buffer.from(leaf).toString('base64'),
        block: { sequence, index, size, path: path.map(formatHex) },
        tree: { index: sequence, size: proof.treeSize, path: proof.treePath.map(formatHex) },
        checkpoint: proof.checkpoint,
      }
    },
  )

  app.get(
    '/v1/log/checkpoint',
    defineRoute('log.checkpoint', MEMBER_OR_READING_KEY, {
      querystring: NoQuery,
      response: { 200: Checkpoint, ...errorResponses(400, 401) },
    }),
    async (request) => {
      const state = await proofs.checkpoint(provenCaller(request))
      const { origin, size, root, note, factsNote } = state
      return { origin, size, root: formatHex(root), checkpoint: note, facts: factsNote }
    },
  )

  app.get(
    '/v1/log/consistency',
    defineRoute('log.consistency', MEMBER_OR_READING_KEY, {
      querystring: ConsistencyQuery,
      response: { 200: Consistency, ...errorResponses(400, 401) },
    }),
    async (request) => {
      const { from, to } = request.query
      const path = await proofs.consistency(provenCaller(request), from, to)
      return { from, to, path: path.map(formatHex) }
    },
  )

  app.get(
    '/v1/log/key',
    defineRoute('log.key', MEMBER_OR_READING_KEY, {
      querystring: NoQuery,
      response: { 200: VerifierKey, ...errorResponses(400, 401) },
    }),
    async (request) => ({ key: proofs.verifierKey(provenCaller(request)) }),
  )
}
