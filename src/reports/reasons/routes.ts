import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { ChangeRequest } from '../../../schemas/change-requests.ts'
import { errorResponses } from '../../../schemas/errors.ts'
import {
  ExplanationQuery,
  Explanation as ExplanationSchema,
  MethodReportRequest,
  MethodReport as MethodReportSchema,
  PutReasonBaselineRequest,
  PutReasonBaselineResult,
  ReasonBaselineList,
  ReasonBaselineRequest,
  ReasonBaseline as ReasonBaselineSchema,
  ReasonBaselinesQuery,
  ReasonCountsQuery,
  ReasonCounts as ReasonCountsSchema,
} from '../../../schemas/reasons.ts'
import { type BinChange, DEFAULT_LANGUAGE } from '../../engine/index.ts'
import { DEPLOYERS, MEMBER_OR_READING_KEY } from '../../http/access/caller.ts'
import { provenCaller, userCaller } from '../../http/access/request-caller.ts'
import { defineRoute, limitBodies } from '../../http/define-route.ts'
import { sendList } from '../../http/reply.ts'
import { outcomeAnswer } from '../../registry/deployments/responses.ts'
import type { Explanation, ExplanationService } from './explanation.ts'
import type { MethodReport } from './method-report.ts'
import type { GradeCounts, ReasonCounts } from './reason-counts.ts'
import type { ReasonService, StoredBaseline } from './service.ts'

interface ReasonRouteOptions {
  readonly explanations: ExplanationService
  readonly reasons: ReasonService
}

const BODY_BYTES_MAX = 64 * 1024
const RequestParams = Type.Object({ request_id: Type.String() })
const SlugParams = Type.Object({ slug: Type.String() })

/** Baselines of reasons, and the comparison of methods. */
export const reasonRoutes: FastifyPluginAsyncTypebox<ReasonRouteOptions> = async (
  app,
  { reasons, explanations },
) => {
  limitBodies(app, BODY_BYTES_MAX)

  app.post(
    '/v1/deployments/:slug/reason-baselines',
    defineRoute('reason_baselines.create', DEPLOYERS, {
      params: SlugParams,
      body: ReasonBaselineRequest,
      response: {
        201: ReasonBaselineSchema,
        ...errorResponses(400, 401, 403, 404, 413, 415, 422),
      },
    }),
    async (request, reply) => {
      const { model_id, band_points, min_population, ...rest } = request.body
      const baseline = await reasons.createBaseline(userCaller(request), request.params.slug, {
        ...rest,
        modelId: model_id,
        bandPoints: band_points,
        minPopulation: min_population,
      })
      return reply.code(201).send(baselineAnswer(baseline))
    },
  )

  app.get(
    '/v1/deployments/:slug/reason-baselines',
    defineRoute('reason_baselines.list', MEMBER_OR_READING_KEY, {
      params: SlugParams,
      querystring: ReasonBaselinesQuery,
      response: { 200: ReasonBaselineList, ...errorResponses(400, 401, 404) },
    }),
    (request, reply) => {
      const caller = provenCaller(request)
      const { slug } = request.params
      return sendList(reply, request.query, {
        read: (page) => reasons.listBaselines(caller, slug, page),
        answer: (items) => ({
          reason_baselines: items.map((one) => ({
            ...baselineAnswer(one),
            is_in_force: one.isInForce,
          })),
        }),
      })
    },
  )

  app.put(
    '/v1/deployments/:slug/reason-baseline',
    defineRoute('reason_baselines.put', DEPLOYERS, {
      params: SlugParams,
      body: PutReasonBaselineRequest,
      response: {
        200: PutReasonBaselineResult,
        202: ChangeRequest,
        ...errorResponses(400, 401, 403, 404, 409, 413, 415, 422),
      },
    }),
    async (request, reply) => {
      const { slug } = request.params
      const { model_id, baseline_id } = request.body
      const order = { modelId: model_id, baselineId: baseline_id }
      const outcome = await reasons.putInForce(userCaller(request), slug, order)
      return outcomeAnswer(outcome, reply, (cache_version) => ({
        deployment_id: slug,
        model_id,
        baseline_id,
        cache_version,
      }))
    },
  )

  app.get(
    '/v1/deployments/:slug/reason-counts',
    defineRoute('reasons.counts', MEMBER_OR_READING_KEY, {
      params: SlugParams,
      querystring: ReasonCountsQuery,
      response: { 200: ReasonCountsSchema, ...errorResponses(400, 401, 404, 422) },
    }),
    async (request) => {
      const { lang = DEFAULT_LANGUAGE, ...order } = request.query
      const counts = await reasons.countReasons(provenCaller(request), request.params.slug, {
        ...order,
        lang,
      })
      return countsAnswer(counts)
    },
  )

  app.get(
    '/v1/scores/:request_id/explanation',
    defineRoute('scores.explain', MEMBER_OR_READING_KEY, {
      params: RequestParams,
      querystring: ExplanationQuery,
      response: { 200: ExplanationSchema, ...errorResponses(400, 401, 404) },
    }),
    async (request) => {
      const { request_id } = request.params
      const { lang = DEFAULT_LANGUAGE, record, cutoff } = request.query
      const query = { lang, record, cutoff }
      return explanationAnswer(await explanations.explain(provenCaller(request), request_id, query))
    },
  )

  app.post(
    '/v1/deployments/:slug/reason-method-report',
    defineRoute('reasons.method_report', MEMBER_OR_READING_KEY, {
      params: SlugParams,
      body: MethodReportRequest,
      response: { 200: MethodReportSchema, ...errorResponses(400, 401, 404, 413, 415, 422) },
    }),
    async (request) => {
      const { band_points: bandPoints, ...rest } = request.body
      const order = { ...rest, bandPoints }
      return reportAnswer(
        await reasons.reportMethods(provenCaller(request), request.params.slug, order),
      )
    },
  )
}

function baselineAnswer(baseline: StoredBaseline) {
  const formatIso = (atMs: number) => new Date(atMs).toISOString()
  return {
    id: baseline.id,
    model_id: baseline.modelId,
    method: baseline.method,
    cutoff: baseline.cutoff,
    band_points: baseline.bandPoints,
    from: baseline.fromMs === null ? null : formatIso(baseline.fromMs),
    to: formatIso(baseline.toMs),
    n: baseline.n,
    dedupe: baseline.dedupe,
    per_feature: Object.fromEntries(baseline.perFeature),
    mean_total: baseline.meanTotal,
    created_at: formatIso(baseline.createdAtMs),
  }
}

function countsAnswer({
  modelId,
  all,
  grades,
  withoutBaseline,
}: ReasonCounts & { readonly modelId: string }) {
  const answer = ({ n, noAdverseFactor, reasons, moreCodes }: Omit<GradeCounts, 'grade'>) => ({
    n,
    no_adverse_factor: noAdverseFactor,
    reasons: [...reasons],
    more_codes: moreCodes,
  })
  return {
    model_id: modelId,
    without_baseline: withoutBaseline,
    ...answer(all),
    grades: grades.map(({ grade, ...counts }) => ({ grade, ...answer(counts) })),
  }
}

function reportAnswer({ n, cutoff, pairs }: MethodReport) {
  return {
    n,
    cutoff,
    pairs: pairs.map(({ a, b, sameFirst, sameSet, meanJaccard }) => ({
      a,
      b,
      same_first: sameFirst,
      same_set: sameSet,
      mean_jaccard: meanJaccard,
    })),
  }
}

/** An explanation in the words of the public contract. */
function explanationAnswer(explanation: Explanation) {
  const { result, reasons, target, counterfactuals, featureNames, sensitivity, findBin } =
    explanation
  const formatName = (feature: number) => featureNames[feature] ?? ''
  const changeAnswer = ({ feature, bin, gain }: BinChange) => ({
    feature: formatName(feature),
    bin: findBin(feature, bin),
    gain,
  })
  return {
    request_id: explanation.requestId,
    record_index: explanation.recordIndex,
    model_id: explanation.modelId,
    score: result.score,
    risk_grade: result.grade,
    pd: result.pd,
    cutoff: explanation.cutoff,
    reasons: reasons === null ? null : [...reasons.reasons],
    ...(reasons?.found.isTruncated === true && { reasons_truncated: true }),
    ...(reasons?.found.isEmpty === true && { no_adverse_factor: true }),
    key_factors: [...(reasons?.keyFactors ?? [])],
    reason_method: reasons?.method ?? null,
    score_range: explanation.scoreRange,
    features: [...explanation.features],
    counterfactuals: {
      need: counterfactuals.need,
      target: target === null ? null : targetAnswer(target),
      single: counterfactuals.single.map(changeAnswer),
      least_set: counterfactuals.leastSet?.map(changeAnswer) ?? null,
    },
    sensitivity:
      sensitivity?.map((bins, feature) => ({
        feature: formatName(feature),
        bins: bins.map(({ bin, points, score, grade }) => ({
          ...findBin(feature, bin),
          points,
          score,
          risk_grade: grade,
        })),
      })) ?? null,
  }
}

function targetAnswer({ cutoff, grade }: NonNullable<Explanation['target']>) {
  return {
    ...(cutoff !== null && { cutoff }),
    ...(grade !== null && { risk_grade: grade }),
  }
}
