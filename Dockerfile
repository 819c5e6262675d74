# The program as npm publishes it: npm run build && npm pack && docker build --tag bands .
FROM node:24.21.0-slim

COPY bands-*.tgz /tmp/
RUN npm install --global --offline /tmp/bands-*.tgz && rm /tmp/bands-*.tgz

RUN useradd --system --uid 10001 --home-dir /data --shell /usr/sbin/nologin bands && install --directory --owner bands /data
USER bands
WORKDIR /data

# The database is /data/bands/bands.db, with accounts, trials and lists next to it; the sample answers until there is one.
ENV XDG_DATA_HOME=/data BANDS_CONFIG_DIR=/data/config
VOLUME /data

EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["node", "-e", "fetch('http://127.0.0.1:8080/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]

# A proxy in front has the certificate.
ENTRYPOINT ["bands"]
CMD ["serve", "--host", "0.0.0.0", "--allow-plain-http"]
