createuser -h db.example -U postgres bands_admin
createuser -h db.example -U postgres bands_server
createdb -h db.example -U postgres --owner bands_admin bands
bands accounts grant bands_server --accounts postgres://bands_admin@db.example/bands
bands accounts create research --tier pro --accounts postgres://bands_admin@db.example/bands
