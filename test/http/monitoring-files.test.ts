import { mkdtempSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { VERDICTS } from '../../src/reports/monitoring/statistics/population-stability.ts'
import { card, plainFeature } from '../support/cards/cards.ts'
import { dataRoot } from '../support/start/data-root.ts'
import { firstBackend } from '../support/start/databases.ts'
import { TestService } from '../support/start/service.ts'
import { readText } from '../support/structure/documents.ts'

const FILES = 'docker/helm/scoreline/files/'
/** Metrics that Prometheus itself and docker/monitoring/probe.mjs make. */
const OF_OTHERS = ['up', 'scoreline_probe_success']
/** Labels that Prometheus adds. */
const ADDED_LABELS = ['instance', 'job', 'le']

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: {
    readonly summary: string
    readonly description: string
    readonly runbook_url: string
  }
}

interface Panel {
  readonly id: number
  readonly title: string
  readonly description: string
  readonly gridPos: {
    readonly x: number
    readonly y: number
    readonly w: number
    readonly h: number
  }
  readonly targets: readonly { readonly expr: string }[]
}

const rules: Rule[] = parse(readText(`${FILES}alerts.yaml`)).groups.flatMap(
  ({ rules }: { rules: Rule[] }) => rules,
)
const { panels } = JSON.parse(readText(`${FILES}dashboard.json`)) as { panels: Panel[] }
const used = [
  ...rules.map(({ alert, expr }) => ({ by: alert, expr })),
  ...panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ by: title, expr }))),
]

/** A metric of an expression, with what it asks of its labels. */
interface Selector {
  readonly by: string
  readonly name: string
  readonly matchers: readonly (readonly [label: string, operator: string, value: string])[]
}

const NAME = /\b((?:scoreline|process|nodejs)_[a-z0-9_]+|up)\b(?:\{([^}]*)\})?/g
const MATCHER = /(\w+)(=~|!=|!~|=)"([^"]*)"/g

const selectors: Selector[] = used.flatMap(({ by, expr }) =>
  [...expr.matchAll(NAME)].map(([, name = '', matchers = '']) => ({
    by,
    name,
    matchers: [...matchers.matchAll(MATCHER)].map(
      ([, label = '', operator = '', value = '']) => [label, operator, value] as const,
    ),
  })),
)

describe('the alerts and the dashboard', () => {
  /** Sets of labels by the name of the metric, as a scrape finds them. */
  const series = new Map<string, Record<string, string>[]>()
  let text = ''

  beforeAll(async () => {
    const archive = mkdtempSync(join(dataRoot(), 'archive-'))
    const env = {
      METRICS_DEPLOYMENTS: '10',
      SCORE_LOG_ARCHIVE: pathToFileURL(archive).href,
    }
    const service = await TestService.start(firstBackend, { env })
    const owner = await service.signIn()
    const slug = await service.deploy(owner, card([plainFeature('income')]))
    const token = await service.createKey(owner)
    await service.call({ url: `/v1/score/${slug}`, token, body: { income: 1 } })
    await service.call({ url: `/v1/score/${slug}/batch`, token, body: { records: [{}] } })
    text = (await service.call({ method: 'GET', url: '/metrics' })).body
    await service.close()
    for (const [, name = '', labels = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
      const set = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, value]) => [key, value])
      series.set(name, [...(series.get(name) ?? []), Object.fromEntries(set)])
    }
  })
  afterAll(() => series.clear())

  // An alert on a metric that does not exist never fires, and no tool says so.
  test('name metrics that exist', () => {
    const help = new Set([...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name))
    const missing = selectors.filter(({ name }) => {
      const base = name.replace(/_(?:bucket|sum|count)$/, '')
      return !OF_OTHERS.includes(name) && !help.has(name) && !help.has(base)
    })
    expect(selectors.length).toBeGreaterThan(40)
    expect(missing.map(({ by, name }) => `${by}: ${name}`)).toEqual([])
  })

  test('ask for labels and values that these metrics have', () => {
    const missing = selectors.flatMap(({ by, name, matchers }) =>
      matchers
        .filter(([label]) => !ADDED_LABELS.includes(label))
        .filter(([label, operator, value]) => {
          // Evaluated once an hour, and shown from then on.
          if (label === 'verdict') return !VERDICTS.some((verdict) => verdict === value)
          // A status that did not come yet.
          if (label === 'status') return !series.get(name)?.some((set) => 'status' in set)
          const isMet = (text: string) =>
            operator.endsWith('~') ? new RegExp(`^(?:${value})$`).test(text) : text === value
          return !series.get(name)?.some((set) => set[label] !== undefined && isMet(set[label]))
        })
        .map(([label, , value]) => `${by}: ${name}{${label}="${value}"}`),
    )
    expect(missing).toEqual([])
  })

  test('group by labels that their metrics have', () => {
    const wrong = used.flatMap(({ by, expr }) => {
      const names = [...expr.matchAll(NAME)].map(([, name = '']) => name)
      const labels = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) =>
        list.split(', '),
      )
      return labels
        .filter((label) => !ADDED_LABELS.includes(label) && label !== 'verdict')
        .filter((label) => !names.some((name) => series.get(name)?.some((set) => label in set)))
        .map((label) => `${by}: ${label}`)
    })
    expect(wrong).toEqual([])
  })
})

// Whoever is woken up at night reads what to do, not the code.
test('each alert has a runbook of its own, and each runbook its alert', () => {
  const pages = readdirSync(new URL('../../docs/runbooks/', import.meta.url))
  const named = rules.map(({ annotations }) => annotations.runbook_url)
  expect(rules.length).toBeGreaterThan(15)
  expect(named.toSorted()).toEqual(
    pages.filter((name) => name !== 'README.md').map((name) => `docs/runbooks/${name}`),
  )
  const index = readText('docs/runbooks/README.md')
  for (const { alert, annotations } of rules) {
    const page = readText(annotations.runbook_url)
    expect(page).toMatch(new RegExp(`^# ${alert}\n`))
    expect(page, alert).toContain('\n## Steps\n')
    const file = annotations.runbook_url.split('/').at(-1)
    expect(index).toContain(`[${alert}](${file})`)
  }
})

test('each alert has a severity, a summary and a description, and a name of its own', () => {
  for (const { alert, labels, annotations } of rules) {
    expect(alert).toMatch(/^Scoreline[A-Z]\w+$/)
    expect(['critical', 'warning', 'info', 'none']).toContain(labels.severity)
    expect(annotations.summary.length).toBeGreaterThan(10)
    expect(annotations.description).toMatch(/\.$/)
  }
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length)
})

test('panels say what they show, and have ids and places of their own', () => {
  for (const { description } of panels) expect(description).toMatch(/^[A-Z0-9].{20,}\.$/)
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, n) => `${x + (n % w)} ${y + Math.floor(n / w)}`),
  )
  expect(new Set(cells).size).toBe(cells.length)
  for (const { gridPos } of panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24)
})

test('Prometheus and Grafana read these files where the compose file mounts them', () => {
  const { services } = parse(readText('docker/compose.yaml'), { merge: true })
  const { prometheus, alertmanager, grafana } = services
  for (const { profiles, ports } of [prometheus, alertmanager, grafana]) {
    expect(profiles).toEqual(['monitoring'])
    // Metrics and dashboards have no key: other machines must not reach them.
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/)
  }
  const mounted = (volumes: string[]) =>
    volumes.filter((volume) => volume.startsWith('./')).map((volume) => volume.split(':'))
  const config = parse(readText('docker/monitoring/prometheus.yml'))
  const [[configFile], [rulesFile]] = mounted(prometheus.volumes).map(([, to]) => [to]) as [
    [string],
    [string],
  ]
  expect(prometheus.command).toContain(`--config.file=${configFile}`)
  expect(config.rule_files).toEqual([rulesFile])
  for (const volume of alertmanager.volumes.filter((one: string) => one.startsWith('./'))) {
    expect(readText(`docker/${volume.split(':')[0].slice(2)}`).length).toBeGreaterThan(0)
  }
  const [{ targets }] = config.scrape_configs[0].static_configs
  expect(targets).toEqual(['scoreline-1:3000', 'scoreline-2:3000'])
  const provider = parse(readText('docker/monitoring/grafana-dashboards.yaml')).providers[0]
  const places = mounted(grafana.volumes).map(([, to]) => to ?? '')
  expect(places.some((place) => place.startsWith(`${provider.options.path}/`))).toBe(true)
  for (const [from = ''] of [...mounted(prometheus.volumes), ...mounted(grafana.volumes)]) {
    expect(readText(`docker/${from.slice(2)}`).length).toBeGreaterThan(0)
  }
})
