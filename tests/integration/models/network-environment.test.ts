import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ThriceError } from '@thrice/core';
import { listModels, openTransport } from '@thrice/models';
import { describe, expect, it } from 'vitest';
import { aLane } from '../../support/builders.ts';
import { sendJson, startHttpServer } from '../../support/http-server.ts';
import { startProxy } from '../../support/proxy-server.ts';
import { authorityFile, startTlsServer } from '../../support/tls-server.ts';

type Environment = Readonly<Record<string, string>>;

async function listFrom(endpoint: string, environment: Environment): Promise<readonly string[]> {
  await using transport = openTransport({ environment });
  const lane = aLane({ protocol: 'chat' });
  const key = 'sk-canary-5f1e0c9a77d24b';
  const listed = await listModels({ lane, endpoint, key, transport });
  return listed.map(({ name }) => name);
}

async function failureOf(listed: Promise<unknown>): Promise<ThriceError> {
  const error = await listed.catch((thrown: unknown) => thrown);
  if (error instanceof ThriceError) return error;
  throw new Error('expected a ThriceError');
}

async function startPlainServer() {
  return await startHttpServer((response) => sendJson(response, { data: [{ id: 'small' }] }));
}

describe('a proxy of the environment', () => {
  it.each(['HTTP_PROXY', 'http_proxy'])(
    'forwards requests for http:// endpoints: %s',
    async (name) => {
      await using server = await startPlainServer();
      await using proxy = await startProxy();
      const endpoint = `http://models.test:${server.port}/v1`;

      expect(await listFrom(endpoint, { [name]: proxy.url })).toEqual(['small']);

      expect(proxy.requests).toEqual([`GET ${endpoint}/models`]);
      expect(server.requests[0]?.headers).toMatchObject({
        host: `models.test:${server.port}`,
        authorization: 'Bearer sk-canary-5f1e0c9a77d24b',
      });
    },
  );

  it.each(['HTTPS_PROXY', 'https_proxy'])(
    'connects requests for https:// endpoints, without seeing them: %s',
    async (name) => {
      await using server = await startTlsServer();
      await using proxy = await startProxy();
      const endpoint = `https://models.test:${server.port}/v1`;

      const models = await listFrom(endpoint, { [name]: proxy.url, SSL_CERT_FILE: authorityFile });

      expect(models).toEqual(['small']);
      expect(proxy.requests).toEqual([`CONNECT models.test:${server.port}`]);
    },
  );

  it.each(['directly', 'through a proxy'])(
    'leaves a server as long to answer as it needs, once a connection is open %s',
    async (path) => {
      await using server = await startTlsServer(400);
      await using proxy = await startProxy();
      const environment = {
        SSL_CERT_FILE: authorityFile,
        ...(path === 'directly' ? { NO_PROXY: '*' } : { HTTPS_PROXY: proxy.url }),
      };
      const host = path === 'directly' ? 'localhost' : 'models.test';
      await using transport = openTransport({ environment, connectTimeoutMs: 300 });

      const response = await transport
        .open(`https://${host}:${server.port}/v1`, {})
        .get({ stop: { onStop: () => undefined } });
      await response.readBody(1_000, () => false);

      expect(response.status).toBe(200);
    },
  );

  it('receives the credentials of its URL', async () => {
    await using server = await startPlainServer();
    await using secureServer = await startTlsServer();
    await using proxy = await startProxy();
    const url = `http://me:p%40ss@127.0.0.1:${proxy.port}`;
    const environment = { HTTP_PROXY: url, HTTPS_PROXY: url, SSL_CERT_FILE: authorityFile };

    await listFrom(`http://models.test:${server.port}/v1`, environment);
    await listFrom(`https://models.test:${secureServer.port}/v1`, environment);

    const credentials = `Basic ${Buffer.from('me:p@ss').toString('base64')}`;
    expect(proxy.credentials).toEqual([credentials, credentials]);
    expect(server.requests[0]?.headers['proxy-authorization']).toBe(credentials);
  });

  it('may be named without a scheme', async () => {
    await using server = await startPlainServer();
    await using proxy = await startProxy();
    const environment = { HTTP_PROXY: `127.0.0.1:${proxy.port}` };

    const models = await listFrom(`http://models.test:${server.port}/v1`, environment);

    expect(models).toEqual(['small']);
  });

  it.each(['localhost', '127.0.0.1'])('is not used for this machine: %s', async (host) => {
    await using server = await startPlainServer();
    await using proxy = await startProxy();

    const models = await listFrom(`http://${host}:${server.port}/v1`, { HTTP_PROXY: proxy.url });

    expect([models, proxy.requests]).toEqual([['small'], []]);
  });

  it.each([
    ['NO_PROXY', '*'],
    ['NO_PROXY', 'models.invalid'],
    ['NO_PROXY', 'invalid:1'],
    ['no_proxy', 'other.test, .invalid'],
    ['no_proxy', 'OTHER.test *.invalid'],
  ])('is not used for the hosts of %s=%s', async (name, value) => {
    await using proxy = await startProxy();
    const environment = { HTTP_PROXY: proxy.url, [name]: value };

    const error = await failureOf(listFrom('http://models.invalid:1/v1', environment));

    expect(error.code).toBe('endpoint-unreachable');
    expect(proxy.requests).toEqual([]);
  });

  it.each(['other.invalid', 'dels.invalid', 'models.invalid:2', ' , '])(
    'is used for the other hosts: NO_PROXY=%s',
    async (value) => {
      await using server = await startPlainServer();
      await using proxy = await startProxy();
      const environment = { HTTP_PROXY: proxy.url, NO_PROXY: value };

      const models = await listFrom(`http://models.invalid:${server.port}/v1`, environment);

      expect(models).toEqual(['small']);
    },
  );

  it.each([
    ['http', 407, '407 the proxy asks for credentials: add them to the URL of the proxy'],
    ['https', 407, 'the proxy refuses'],
    ['https', 403, 'the proxy refuses'],
  ])('that refuses is named: %s, %i', async (scheme, status, message) => {
    await using proxy = await startProxy(status);
    const environment = { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url };

    const error = await failureOf(listFrom(`${scheme}://models.test/v1`, environment));

    expect(error).toMatchObject({ code: 'endpoint-unreachable', class: 'misconfigured' });
    expect(error.message).toContain(message);
  });

  it.each(['socks5://me:secret@127.0.0.1:1080', 'http://me:secret@:80:80'])(
    'of another kind is refused, without its password: %s',
    async (url) => {
      const error = await failureOf(listFrom('http://models.test/v1', { HTTP_PROXY: url }));

      expect(error).toMatchObject({
        code: 'endpoint-unreachable',
        message:
          'HTTP_PROXY: expected the URL of a proxy with http:// or https://, received another text',
      });
    },
  );
});

describe('the certificate of a server', () => {
  it('of an unknown authority is refused with the remedy, before anything is sent', async () => {
    await using server = await startTlsServer();

    const error = await failureOf(listFrom(server.url, {}));

    expect(error).toMatchObject({ code: 'endpoint-unreachable', class: 'misconfigured' });
    expect(error.message).toContain('the certificate of the server cannot be verified');
    expect(error.message).toContain('NODE_EXTRA_CA_CERTS');
    expect(server.requestCount).toBe(0);
  });

  it('of another host is refused', async () => {
    await using server = await startTlsServer();
    const endpoint = server.url.replace('127.0.0.1', '127.0.0.2');
    await using proxy = await startProxy();
    const environment = { HTTPS_PROXY: proxy.url, SSL_CERT_FILE: authorityFile };

    const error = await failureOf(
      listFrom(endpoint.replace('127.0.0.2', 'other.test'), environment),
    );

    expect(error.code).toBe('endpoint-unreachable');
    expect(error.message).toContain('the certificate of the server is refused');
    expect(server.requestCount).toBe(0);
  });

  it('of an authority in SSL_CERT_FILE is accepted', async () => {
    await using server = await startTlsServer();

    expect(await listFrom(server.url, { SSL_CERT_FILE: authorityFile })).toEqual(['small']);
  });

  it('of an authority in NODE_EXTRA_CA_CERTS is accepted', async () => {
    await using server = await startTlsServer();
    const script = `
      import { listModels, openTransport } from '@thrice/models';
      const transport = openTransport({ environment: {} });
      const lane = { protocol: 'chat' };
      const models = await listModels({ lane, endpoint: process.argv[1], key: undefined, transport });
      console.log(models.map(({ name }) => name).join());
      await transport[Symbol.asyncDispose]();`;
    const env = { ...process.env, NODE_EXTRA_CA_CERTS: authorityFile };

    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '--eval', script, server.url],
      { cwd: import.meta.dirname, env },
    );

    expect(stdout).toBe('small\n');
  });

  it('cannot be checked against a file that does not exist', async () => {
    const environment = { SSL_CERT_FILE: '/does/not/exist.pem' };

    const error = await failureOf(listFrom('https://models.test/v1', environment));

    expect(error).toMatchObject({ code: 'endpoint-unreachable', class: 'misconfigured' });
    expect(error.message).toContain('SSL_CERT_FILE: expected a file of certificates');
  });

  it('is missing where a server speaks plain HTTP', async () => {
    await using server = await startPlainServer();

    const error = await failureOf(listFrom(`https://127.0.0.1:${server.port}/v1`, {}));

    expect(error.message).toContain('the server does not speak TLS, as https:// promises');
  });
});
