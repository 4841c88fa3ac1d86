import {
  APIKeysApi,
  Configuration,
  DeploymentsApi,
  ModelsApi,
  type ScorecardSpec,
  ScoringApi,
  SessionsApi,
} from './index'

const { BASE_URL: basePath = '', EMAIL: email = '', PASSWORD: password = '' } = process.env
const as = (accessToken?: string) => new Configuration({ basePath, accessToken })

const spec: ScorecardSpec = {
  name: 'Consumer loans',
  version: '1.0.0',
  target: 'default_12m',
  base_points: 480,
  features: [
    {
      name: 'age',
      type: 'numeric',
      bins: [
        { range: '(-Infinity, 25]', points: -12 },
        { range: '(25, Infinity)', points: 0.1 + 0.2 },
      ],
      woe_values: [-0.41, 0.33],
    },
    {
      name: 'purpose',
      type: 'categorical',
      bins: [{ value: 'car', points: 4 }],
      woe_values: { car: 0.2 },
    },
  ],
  scaling: { base_score: 500, base_odds: 20, pdo: 20 },
  risk_grades: [{ grade: 'A', min_score: 490, max_score: null }],
}

const print = (line: string) => process.stdout.write(`${line}\n`)

async function main(): Promise<void> {
  const login = await new SessionsApi(as()).authLogin({ email, password })
  const owner = as(login.data.access_token)
  const models = new ModelsApi(owner)
  const order = { spec, environment: 'production', auto_deploy: true } as const
  const { model_id: modelId, deployment } = (await models.modelsDeploy(order)).data
  const slug = deployment?.slug ?? ''

  const keyOrder = { name: 'a client', scopes: ['score', 'read'] as ('score' | 'read')[] }
  const server = as((await new APIKeysApi(owner).keysCreate(keyOrder)).data.key)
  const scoring = new ScoringApi(server)
  const applicant = { age: 35, purpose: 'boat' } as Record<string, unknown>
  const scored = (await scoring.scoringScore(slug, applicant)).data
  const [warning] = scored.warnings
  const records = [{ id: 'a-1', age: 20, purpose: 'car' }]
  const batch = (await scoring.scoringScoreBatch(slug, { records })).data
  const stored = (await models.modelsGet(modelId)).data.spec.features
  const columns = ['id', 'branch']
  const sql = await models.modelsExport(modelId, 'sql', 'postgresql', 'applicants', columns)
  let total = 0
  for (let i = 0; i < 100 && total < 2; i++) {
    const stats = await new DeploymentsApi(server).statsGet(slug, 5)
    total = stats.data.summary.total_requests
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  print(`score=${scored.score}`)
  if (typeof warning === 'object') print(`warning=${warning.type} ${warning.variable}`)
  print(`batch=${batch.results[0]?.score}`)
  print(`bins=${stored.reduce((sum, { bins }) => sum + bins.length, 0)}`)
  print(`sql=${String(sql.data).includes('WITH scoreline_values AS')}`)
  print(`total=${total}`)
}

void main()
