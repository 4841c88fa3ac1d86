import { Link } from '@tanstack/react-router'
import type { Schemas } from '../../api/types.ts'
import { Copy } from '../../ui/facts.tsx'
import { withVersion } from '../../ui/names.ts'
import { Notice } from '../../ui/states.tsx'

export function Registered({ result }: { result: Schemas['DeployResult'] }) {
  const { deployment, spec_warnings: warnings = [] } = result
  return (
    <Notice kind="good">
      <p>
        <strong>
          <bdi>{withVersion(result.name, result.version)}</bdi>
        </strong>{' '}
        is registered{deployment === null ? '.' : ' and answers.'}
      </p>
      <p>
        <Link to={`/models/${result.model_id}` as string}>See the model</Link>
        {deployment && (
          <>
            {' · '}
            <Link to={`/deployments/${deployment.slug}` as string}>See the deployment</Link>
            {' · '}
            <Link to={`/deployments/${deployment.slug}/try` as string}>Try it</Link>
          </>
        )}
      </p>
      {deployment && (
        <p>
          <code>{deployment.endpoint}</code>{' '}
          <Copy text={deployment.endpoint} label="Copy the address" />
        </p>
      )}
      {warnings.length > 0 && (
        <>
          <p>Worth a look:</p>
          <ul>
            {warnings.map(({ path, message }) => (
              <li key={`${path} ${message}`}>
                <code>{path}</code> {message}
              </li>
            ))}
          </ul>
        </>
      )}
    </Notice>
  )
}
