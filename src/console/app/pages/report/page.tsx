import { Button, NativeSelect, TextInput } from '@mantine/core'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useAnswer } from '../../api/client.ts'
import { useModel, useSlug } from '../../api/deployments.ts'
import { useDefinitions } from '../../api/reports.ts'
import type { Schemas } from '../../api/types.ts'
import { useAddress } from '../../ui/address.ts'
import { featureNames } from '../../ui/card.ts'
import { monthName, whenExactly } from '../../ui/dates.ts'
import { Copy } from '../../ui/facts.tsx'
import { Page } from '../../ui/page.tsx'
import { Loaded } from '../../ui/states.tsx'
import { ReportBody } from './body.tsx'

/** The report of a month, on A4: what a committee reads, the same figures again next year. */
export default function ReportPage() {
  const slug = useSlug()
  const { month = '' } = useParams({ strict: false }) as { month?: string }
  const [search, , bind] = useAddress()
  const navigate = useNavigate()
  const definitions = useDefinitions()
  const definition = search['definition'] || definitions.data?.[0]?.id
  const asked = useAnswer(
    '/v1/deployments/{slug}/reports/{month}',
    {
      path: { slug, month },
      query: { definition, as_known_at: search['as_known_at'] || undefined },
    },
    { enabled: !definitions.isPending },
  )
  const { data: report } = asked
  const card = useModel(report?.champion_model.id)
  const facts = report && [
    `Version ${report.champion_model.version}`,
    report.is_complete ? 'Complete month' : 'The month is under way',
    `As known on ${whenExactly(report.as_known_at)}`,
  ]
  return (
    <div className="report">
      <Page
        title={`Report of ${monthName(`${month}-01T00:00:00Z`)}`}
        subject={report?.name ?? 'Deployment'}
        environment={report?.environment}
        facts={facts ?? []}
        actions={
          <>
            {report && <Copy text={lastingLink(report, definition)} label="Copy a lasting link" />}
            <Button onClick={() => print()}>Print or save as PDF</Button>
          </>
        }
      >
        <div className="filters no-print">
          <TextInput
            type="month"
            label="Month"
            value={month}
            onChange={({ currentTarget: { value } }) =>
              /^\d{4}-\d{2}$/.test(value) &&
              void navigate({ to: `/deployments/${slug}/reports/${value}` as string })
            }
          />
          <NativeSelect
            label="Definition of bad"
            data={(definitions.data ?? []).map(({ id, label }) => ({ value: id, label }))}
            {...bind('definition', definition)}
          />
        </div>
        <Loaded of={asked}>
          {(found) => (
            <ReportBody
              report={found}
              featureName={featureNames(card.data?.spec)}
              definition={definitions.data?.find(({ id }) => id === definition)}
            />
          )}
        </Loaded>
      </Page>
    </div>
  )
}

function lastingLink(report: Schemas['MonthlyReport'], definition: string | undefined): string {
  const url = new URL(location.href)
  if (definition !== undefined) url.searchParams.set('definition', definition)
  url.searchParams.set('as_known_at', report.as_known_at)
  return url.href
}
